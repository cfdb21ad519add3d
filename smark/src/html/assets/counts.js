// The page of counts (smark/src/count/page.rs).

/** @param {any} data */
function countsSummary(data) {
  const { about } = data;
  const hits = data.counts.reduce((sum, line) => sum + line.hits, 0);
  const missing = [];
  if (about.lost > 0) missing.push(`${counted(about.lost, 'hit was', 'hits were')} lost: the buffer of a program that records itself was full.`);
  if (about.unfiltered > 0) missing.push(`${counted(about.unfiltered, 'hit')} could not be filtered: an argument of the filter could not be read.`);
  if (about.uncounted > 0) missing.push(`${counted(about.uncounted, 'hit is', 'hits are')} in no value, interval or stack, for want of space or because it could not be read.`);
  const figures = [[hits === 1 ? 'hit' : 'hits', count(hits)], [data.counts.length === 1 ? 'marker' : 'markers', count(data.counts.length)], ['lost', count(about.lost)]];
  const written = new Date(Number(about.written));
  return section(
    'summary',
    'What was counted',
    element('ul', { class: 'figures' }, ...figures.map(([name, value]) => element('li', { class: name === 'lost' && about.lost > 0 ? 'bad' : null }, element('strong', {}, value), element('span', {}, name)))),
    missing.length ? element('div', { class: 'warning', role: 'note', 'aria-label': 'What is missing' }, element('h3', {}, 'What is missing'), element('ul', {}, ...missing.map((text) => element('li', {}, text)))) : null,
    terms([['Written', element('time', { datetime: written.toISOString() }, `${written.toISOString().replace('T', ' ').slice(0, 19)} UTC`)], ['Exit status', about.exit === null ? null : valueText(about.exit)]]),
    table('Programs and shared objects', ['File', 'Build id'], data.images.map((image) => [element('code', {}, image.path), image.build_id ? element('code', {}, image.build_id) : 'none'])),
  );
}

/** A bar of a share. @param {number} part @param {number} most */
function shareBar(part, most) {
  const bar = element('span', { class: 'bar' }, element('span', {}));
  bar.firstElementChild.style.width = `${most > 0 ? (100 * part) / most : 0}%`;
  return bar;
}

/** What was counted of a marker besides its hits. @param {any} data @param {any} line */
function countDetails(data, line) {
  const parts = [];
  if (line.by && !line.amounts) {
    const most = Math.max(1, ...line.by.map(([, number]) => number));
    const rows = line.by.map(([value, number, name]) => [typeof name === 'string' ? `${name} = ${valueText(value)}` : valueText(value), shareBar(number, most), count(number)]);
    if (line.other) rows.push(['all others', '', count(line.other)]);
    parts.push(table(`Values of ${data.argument} at ${line.marker ?? line.event}`, ['Value', 'Share', ['Hits', 'number']], rows));
  }
  if (line.histogram?.length) {
    const most = Math.max(1, ...line.histogram.map((bucket) => bucket[2]));
    parts.push(table(`${data.argument} of ${line.marker ?? line.event} by powers of two`, [['From', 'number'], ['To', 'number'], 'Share', ['Hits', 'number']], line.histogram.map(([low, high, number]) => [valueText(low), valueText(high), shareBar(number, most), count(number)])));
  }
  if (line.amounts) {
    const fields = ['count', 'sum', 'avg', 'min', 'p50', 'p90', 'p99', 'max'];
    const cells = (of) => fields.map((field) => (typeof of[field] === 'number' ? count(Math.round(of[field] * 100) / 100) : valueText(of[field])));
    const rows = [['all', ...cells(line.amounts)], ...(line.by ?? []).map(([value, , amounts, name]) => [name ?? valueText(value), ...cells(amounts)])];
    parts.push(table(`Sums of ${data.argument} at ${line.marker ?? line.event}`, ['Value', ...fields.map((field) => /** @type {[string, string]} */ ([field, 'number']))], rows));
  }
  return parts;
}

/** @param {any} data */
function countsSection(data) {
  const most = Math.max(1, ...data.counts.map((line) => line.hits));
  const rows = [...data.counts].sort((a, b) => b.hits - a.hits).map((line) => [line.marker ?? line.event, line.module, shareBar(line.hits, most), count(line.hits)]);
  return section('counts', 'Counts', table('Hits of each marker', ['Marker', 'Module', 'Share', ['Hits', 'number']], rows), ...data.counts.flatMap((line) => countDetails(data, line)));
}

/** Flame graphs, and their stacks as tables. @param {any} data */
function stacksSection(data) {
  if (!data.stacks?.length) return null;
  const parts = data.stacks.map((of) => {
    if (!of.svg) return element('div', {}, element('h3', {}, of.title), element('p', { class: 'quiet' }, 'No stack was counted.'));
    const picture = element('img', { src: `data:image/svg+xml;base64,${of.svg}`, alt: `Flame graph: ${of.title}. The table below has its stacks.` });
    const all = of.stacks.reduce((sum, [, number]) => sum + number, 0);
    const rows = of.stacks.map(([functions, number]) => [count(number), `${((100 * number) / all).toFixed(1)} %`, functions.length ? element('ol', { class: 'stack' }, ...functions.map((name) => element('li', {}, name))) : 'no stack']);
    const shown = of.stacks.length < of.all ? `The ${count(of.stacks.length)} largest of ${count(of.all)} stacks` : counted(of.all, 'stack');
    return element(
      'div',
      {},
      element('h3', {}, of.title),
      element('div', { class: 'scroll flames', tabindex: '0', role: 'group', 'aria-label': `Flame graph: ${of.title}` }, picture),
      folded(`${shown} as a table`, () => table(`${shown}: ${of.title}, the outermost function first`, [[of.unit === 'us' ? 'µs' : of.unit, 'number'], ['Percent', 'number'], 'Functions'], rows)),
    );
  });
  return section('stacks', 'Stacks', ...parts);
}

