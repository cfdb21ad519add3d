// What was recorded, what is missing, and the markers.

/**
 * What is missing in the data, in plain words.
 * @param {any} data
 * @returns {string[]}
 */
function losses(data) {
  const { about } = data;
  const all = [];
  if (about.lost > 0) all.push(`${counted(about.lost, 'hit was', 'hits were')} lost while it was recorded: the buffer was full. Every number on this page is without them.`);
  if (about.is_cut_off) all.push('The recording was cut off: smark record did not end it, or has not ended it yet. What is complete is shown.');
  if (!about.is_whole) all.push('Not all of the recording could be read. What could be read is shown.');
  if (about.unfiltered > 0) all.push(`${counted(about.unfiltered, 'hit', 'hits')} could not be filtered, because an argument of the filter could not be read. They are not shown.`);
  if (about.end?.stopped) all.push(`The recording ended early (${about.end.stopped}).`);
  for (const pair of data.pairs) {
    const of = pair.not_in_slices;
    const parts = [
      [of.ends_without_begin, `${pair.to} came without a ${pair.from}`],
      [of.open_begins, `${pair.from} had no ${pair.to} until the end`],
      [of.replaced_begins, `${pair.from} was forgotten, because too many were open in one thread or key`],
      [of.key_not_read, 'hits have a key that could not be read'],
      [of.no_space, `${pair.from} found too many open ones (--max-values)`],
    ].filter(([number]) => number > 0);
    if (parts.length) all.push(`Pair ${pair.name}: ${parts.map(([number, text]) => `${count(number)} × ${text}`).join('; ')}.`);
  }
  if (data.polls.begins_without_end > 0) all.push(`${counted(data.polls.begins_without_end, 'poll', 'polls')} of tasks did not end while it was recorded.`);
  if (data.left_out.length) all.push(`${counted(data.left_out.length, 'site was', 'sites were')} not watched: see Markers.`);
  return all;
}

/** @param {any} data */
function summarySection(data) {
  const { about } = data;
  const start = new Date(Number(BigInt(about.start) / 1000000n));
  const missing = losses(data);
  const exit = about.end?.exit;
  const lasted = about.last_ns - (about.first_ns ?? 0);
  const figures = [
    [about.hits === 1 ? 'hit' : 'hits', count(about.hits), about.hits === about.all ? 'all that were recorded' : `chosen of ${count(about.all)}`],
    [data.counts.length === 1 ? 'marker' : 'markers', count(data.counts.length), counted(data.images.length, 'file')],
    [about.processes.length === 1 ? 'process' : 'processes', count(about.processes.length), counted(data.tracks.filter((track) => track.kind === 'thread').length, 'thread')],
    ['from the first hit to the last', duration(lasted), `${duration(about.last_ns)} after the start`],
    ['lost', count(about.lost), about.lost > 0 ? 'see below' : 'nothing is missing'],
  ];
  const cards = figures.map(([name, value, more]) =>
    element('li', { class: name === 'lost' && about.lost > 0 ? 'bad' : null }, element('strong', {}, value), element('span', {}, name), element('small', {}, more)),
  );
  const rows = terms([
    ['Recording', data.name],
    ['Started', Number.isNaN(start.getTime()) ? null : element('time', { datetime: start.toISOString() }, `${start.toISOString().replace('T', ' ').replace('Z', '')} UTC`)],
    ['Chosen', about.patterns.length || about.filter ? [...about.patterns, about.filter ? `where ${about.filter}` : ''].filter(Boolean).join(' ') : null],
    ['Exit status', exit === null || exit === undefined ? null : valueText(exit)],
    ['Host', about.origin?.host ?? 'The recording does not name it.'],
    ['Boot', about.origin?.boot ? element('code', {}, about.origin.boot) : null],
    ['Recorded by', `smark ${about.tool}`],
    ['Identity', about.uuid],
  ]);
  const images = table(
    'Programs and shared objects',
    ['File', 'Build id'],
    data.images.map((image) => [element('code', {}, image.path), image.build_id ? element('code', {}, image.build_id) : 'none']),
  );
  return section(
    'summary',
    'What was recorded',
    element('ul', { class: 'figures' }, ...cards),
    missing.length ? element('div', { class: 'warning', role: 'note', 'aria-label': 'What is missing' }, element('h3', {}, 'What is missing'), element('ul', {}, ...missing.map((text) => element('li', {}, text)))) : null,
    rows,
    images,
  );
}

/** The verdicts on the arguments of a marker, with how many sites have each. @param {any} marker */
function verdictRows(marker) {
  const rows = new Map();
  for (const site of marker.sites) {
    for (const argument of site.arguments) {
      const id = JSON.stringify([argument.text, argument.verdict, argument.why]);
      const row = rows.get(id) ?? { ...argument, sites: 0 };
      row.sites += 1;
      rows.set(id, row);
    }
  }
  return [...rows.values()];
}

const VERDICTS = { live: '✓', constant: '✓', lost: '✗', unreadable: '✗' };

/** A verdict with its sign. @param {string} verdict */
function verdictOf(verdict) {
  const sign = VERDICTS[verdict] ?? '?';
  return element('span', { class: `verdict ${{ '✓': 'live', '✗': 'lost' }[sign] ?? 'doubtful'}` }, `${sign} ${verdict}`);
}

/** What is known of a marker. @param {any} marker @param {any[]} leftOut */
function markerDetails(marker, leftOut) {
  const where = marker.file ? `${marker.file}:${marker.line}` : 'an event of the kernel';
  const source = marker.is_event
    ? null
    : marker.source === null
      ? element('p', { class: 'quiet' }, `The source text is not here: a recording does not have it, and ${marker.file} is not a file below the folder in which the page was made.`)
      : element('div', {}, element('pre', {}, element('code', {}, marker.source.trim())), marker.is_source_newer ? element('p', { class: 'quiet' }, 'The source file is newer than the program: the line may have moved.') : null);
  const verdicts = verdictRows(marker);
  const shown = marker.sites.length < marker.watched_sites ? `, of which ${count(marker.sites.length)} are shown` : '';
  const sites = marker.sites.map((site) => [site.function ?? '(unknown)', site.address ? element('code', {}, site.address) : 'one of several copies', count(site.copies)]);
  return element(
    'div',
    { class: 'inside' },
    source,
    terms([
      ['Source', where],
      ['Format', marker.format ? element('code', {}, marker.format) : null],
      ['Sites', marker.is_event ? null : `${count(marker.watched_sites)} watched of ${count(marker.all_sites)}${shown}`],
    ]),
    verdicts.length
      ? table(`Arguments of ${marker.name}`, ['Argument', 'Verdict', ['Sites', 'number'], 'Why'], verdicts.map((it) => [element('code', {}, it.text), verdictOf(it.verdict), count(it.sites), it.why ?? '']))
      : element('p', { class: 'quiet' }, 'No arguments.'),
    marker.is_event || !sites.length ? null : table(`Sites of ${marker.name}`, ['Function', 'Address', ['Copies', 'number']], sites),
    leftOut.length ? table(`Sites of ${marker.name} that were not watched`, ['Site', 'Why'], leftOut.map((it) => [it.place, it.why])) : null,
  );
}

/** @param {any} data */
function markersSection(data) {
  const hits = new Map(data.rates.series.map((marker, at) => [marker, data.counts[at]?.hits ?? 0]));
  const entries = data.markers.map((marker, number) => ({ marker, hits: hits.get(number) })).filter((entry) => entry.hits !== undefined);
  const list = entries.map(({ marker, hits: of }) => {
    const verdicts = verdictRows(marker);
    const bad = verdicts.filter((it) => it.verdict !== 'live').length;
    const known = new Set(verdicts.map((it) => it.text)).size;
    const note = marker.is_event ? 'event of the kernel' : bad ? `${counted(known, 'argument')}, not all readable everywhere` : counted(known, 'argument');
    const title = element(
      'span',
      { class: 'marker-line' },
      element('strong', {}, marker.name),
      element('code', {}, marker.file ? `${marker.file}:${marker.line}` : ''),
      element('span', { class: bad ? 'verdict doubtful' : 'quiet' }, note),
      element('span', { class: 'number' }, counted(of, 'hit')),
    );
    return folded(title, () => markerDetails(marker, data.left_out.filter((it) => it.marker === marker.name)));
  });
  const missing = data.left_out.filter((it) => !data.markers.some((marker) => marker.name === it.marker));
  return section(
    'markers',
    'Markers',
    element('div', { class: 'list' }, ...list),
    missing.length ? table('Sites that were not watched', ['Marker', 'Site', 'Why'], missing.map((it) => [it.marker, it.place, it.why])) : null,
  );
}

