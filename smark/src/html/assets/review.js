// The page of markers for a review, with the findings of a check (smark/src/review.rs).

/** The verdicts on arguments that can be read. */
const READABLE = new Set(['live', 'constant']);

/** How many markers are listed at once. */
const PAGE_MARKERS = 200;

/** The worst of what is said of a marker. @param {any} marker */
function markerProblems(marker) {
  const problems = [];
  if (marker.survival !== 'live') problems.push(marker.survival);
  const inexact = marker.sites.filter((site) => site.exactness !== 'exact').length;
  if (inexact) problems.push(`${count(inexact)} of ${counted(marker.sites.length, 'site')} not exact`);
  const lost = new Set(marker.sites.flatMap((site) => site.args.filter((argument) => !READABLE.has(argument.verdict)).map((argument) => argument.text)));
  if (lost.size) problems.push(`${[...lost].join(', ')} not readable everywhere`);
  return problems;
}

/** The arguments of a marker over all of its sites. @param {any} marker */
function argumentRows(marker) {
  const rows = new Map();
  for (const site of marker.sites) {
    for (const argument of site.args) {
      const id = JSON.stringify([argument.text, argument.verdict, argument.why, argument.location]);
      const row = rows.get(id) ?? { ...argument, sites: 0 };
      row.sites += 1;
      rows.set(id, row);
    }
  }
  return [...rows.values()].map((it) => [
    element('code', {}, it.text),
    verdictOf(it.verdict),
    count(it.sites),
    it.location ? element('code', {}, it.location) : '',
    [it.code, it.why, it.format_mismatch].filter(Boolean).join(': '),
  ]);
}

/** The lines around a marker. @param {any} marker */
function sourceLines(marker) {
  if (!marker.source) return element('p', { class: 'quiet' }, marker.file ? `${marker.file} could not be read.` : 'It has no place in the source.');
  const { first, lines } = marker.source;
  const shown = lines.map((line, at) => element(first + at === marker.line ? 'mark' : 'span', {}, `${String(first + at).padStart(5)} │ ${line}`));
  return element('div', {}, element('pre', { class: 'source', tabindex: '0', role: 'group', 'aria-label': `Source of ${marker.name}` }, ...shown), marker.source.is_newer ? element('p', { class: 'quiet' }, 'The source file is newer than the program: the lines may have moved.') : null);
}

/** A finding of a check. @param {any} finding */
function findingItem(finding) {
  const sites = finding.sites ? ` (${count(finding.sites.affected)} of ${counted(finding.sites.total, 'site')})` : '';
  const change = finding.expected || finding.found ? terms([['Expected', finding.expected ? valueText(finding.expected) : null], ['Found', finding.found ? valueText(finding.found) : null]]) : null;
  return element(
    'li',
    { class: finding.denied ? 'denied' : null },
    element('p', {}, element('strong', {}, `${finding.denied ? '✗' : '!'} ${finding.severity} ${finding.code}`), ` ${finding.name}: ${finding.message}${sites}`),
    change,
    finding.causes.length ? element('ul', {}, ...finding.causes.map((cause) => element('li', {}, cause))) : null,
    finding.help ? element('pre', {}, element('code', {}, finding.help)) : null,
    finding.exception ? element('p', { class: 'quiet' }, `Accepted: ${finding.exception.reason}`) : null,
  );
}

/** @param {any} data @param {any} marker @param {any[]} findings */
function reviewDetails(data, marker, findings) {
  const sites = marker.sites.map((site) => [
    element('code', {}, site.address ?? '–'),
    `${site.function ?? site.symbol ?? '(unknown)'}${site.inlined?.length ? ' (inlined)' : ''}`,
    element('span', { class: site.exactness === 'exact' ? 'verdict live' : 'verdict doubtful' }, site.exactness),
    [site.exactness_code, site.exactness_why].filter(Boolean).join(': '),
  ]);
  return element(
    'div',
    { class: 'inside' },
    findings.length ? element('ul', { class: 'findings' }, ...findings.map(findingItem)) : null,
    sourceLines(marker),
    terms([['Description', marker.description], ['Format', marker.format ? element('code', {}, marker.format) : null], ['File', data.images[marker.image].path], ['Survival', marker.survival]]),
    marker.sites.some((site) => site.args.length) ? table(`Arguments of ${marker.name}`, ['Argument', 'Verdict', ['Sites', 'number'], 'Where', 'Why'], argumentRows(marker)) : null,
    sites.length ? table(`Copies of ${marker.name}`, ['Address', 'Function', 'Exactness', 'Why'], sites) : element('p', { class: 'quiet' }, 'There is no copy of it in the machine code.'),
  );
}

/** @param {any} data @param {any[]} markers */
function reviewSummary(data, markers) {
  const { check } = data;
  const sites = markers.flatMap((marker) => marker.sites);
  const arguments_ = sites.flatMap((site) => site.args);
  const share = (some, all) => (all ? `${((100 * some) / all).toFixed(1)} %` : '–');
  const live = markers.filter((marker) => marker.survival === 'live').length;
  const exact = sites.filter((site) => site.exactness === 'exact').length;
  const readable = arguments_.filter((argument) => READABLE.has(argument.verdict)).length;
  const figures = [
    ...(check ? [[check.holds ? '✓ holds' : '✗ does not hold', 'the check', `${counted(check.summary.errors, 'error')}, ${counted(check.summary.warnings, 'warning')}`, !check.holds]] : []),
    [count(markers.length), markers.length === 1 ? 'marker' : 'markers', `${count(live)} live`],
    [share(exact, sites.length), 'of the sites are exact', `${count(exact)} of ${count(sites.length)}`],
    [share(readable, arguments_.length), 'of the arguments are readable', `${count(readable)} of ${count(arguments_.length)}`],
  ];
  const said = check ? [...check.failures, ...check.notes] : [];
  return section(
    'summary',
    check ? 'The check' : 'Markers',
    element('ul', { class: 'figures' }, ...figures.map(([value, name, more, isBad]) => element('li', { class: isBad ? 'bad' : null }, element('strong', {}, value), element('span', {}, name), element('small', {}, more)))),
    said.length ? element('div', { class: 'warning', role: 'note', 'aria-label': 'What the check says besides' }, element('ul', {}, ...said.map((text) => element('li', {}, valueText(text))))) : null,
    table('Files', ['File', 'Architecture', 'Debug information', 'Build id'], data.images.map((image) => [element('code', {}, image.path), image.arch, image.debug?.path ?? image.debug?.source ?? 'none', image.build_id ? element('code', {}, image.build_id) : 'none'])),
  );
}

/** @param {any} data @param {any[]} markers */
function reviewSection(data, markers) {
  const findings = new Map();
  for (const finding of data.check?.findings ?? []) {
    const all = findings.get(finding.marker) ?? [];
    all.push(finding);
    findings.set(finding.marker, all);
  }
  const entries = markers.map((marker) => ({ marker, own: findings.get(marker.name) ?? [], problems: markerProblems(marker) }));
  const known = new Set(markers.map((marker) => marker.name));
  const gone = [...findings].filter(([name]) => !known.has(name)).flatMap(([, all]) => all);
  entries.sort((a, b) => b.own.filter((it) => it.denied).length - a.own.filter((it) => it.denied).length || b.own.length - a.own.length);
  const filter = element('input', { type: 'search', id: 'markers-filter', autocomplete: 'off', placeholder: 'Name, file or argument' });
  const onlyBad = element('input', { type: 'checkbox', id: 'markers-bad' });
  const says = element('output', { id: 'markers-says', for: 'markers-filter markers-bad' });
  const list = element('div', { class: 'list' });
  const item = ({ marker, own, problems }) => {
    const denied = own.some((finding) => finding.denied);
    const title = element(
      'span',
      { class: 'marker-line' },
      element('strong', {}, marker.name),
      element('code', {}, marker.file ? `${marker.file}:${marker.line}` : ''),
      element('span', { class: problems.length ? `verdict ${denied ? 'lost' : 'doubtful'}` : 'verdict live' }, problems.length ? `${denied ? '✗' : '?'} ${problems.join('; ')}` : '✓ exact and readable'),
      element('span', { class: 'number quiet' }, own.length ? counted(own.length, 'finding') : counted(marker.sites.length, 'site')),
    );
    return folded(title, () => reviewDetails(data, marker, own));
  };
  let most = PAGE_MARKERS;
  const more = element('button', { type: 'button' }, 'Show more');
  const draw = () => {
    const wanted = filter.value.trim().toLowerCase();
    const isWanted = ({ marker, own, problems }) => (!onlyBad.checked || problems.length || own.length) && (!wanted || `${marker.name}\n${marker.file}\n${marker.args.join('\n')}`.toLowerCase().includes(wanted));
    const shown = entries.filter(isWanted);
    list.replaceChildren(...shown.slice(0, most).map(item));
    says.textContent = `${counted(shown.length, 'marker')} of ${count(entries.length)}`;
    more.hidden = shown.length <= most;
  };
  more.addEventListener('click', () => {
    most += PAGE_MARKERS;
    draw();
  });
  filter.addEventListener('input', draw);
  onlyBad.addEventListener('change', draw);
  draw();
  return section(
    'markers',
    'Each marker',
    gone.length ? element('div', {}, element('h3', {}, 'Findings of markers that are not in the files'), element('ul', { class: 'findings' }, ...gone.map((finding) => element('li', {}, element('strong', {}, finding.marker), element('ul', {}, findingItem(finding)))))) : null,
    element('div', { class: 'bar-of-tools' }, element('label', { for: 'markers-filter' }, 'Filter '), filter, element('label', { for: 'markers-bad' }, onlyBad, ' only with problems'), says),
    list,
    more,
  );
}

