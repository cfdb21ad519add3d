// The table of hits: to filter, to sort, and to find in the timeline.

/** How many rows are shown at once. */
const PAGE_ROWS = 100;

/**
 * @param {any} data
 * @param {any[]} hits
 * @param {Timeline} timeline
 */
function hitsSection(data, hits, timeline) {
  const start = data.about.start_ns;
  const rows = hits.map((hit) => {
    const thread = `${hit.comm} ${hit.tid}`;
    return { hit, time: hit.time_ns - start, name: hit.marker ?? hit.event, thread, text: hit.text, searched: `${hit.marker ?? hit.event}\n${thread}\n${hit.text}`.toLowerCase() };
  });
  const columns = [
    { name: 'Time', key: (row) => row.time, cell: (row) => moment(row.time), kind: 'number' },
    { name: 'Thread', key: (row) => row.thread, cell: (row) => row.thread },
    { name: 'Marker', key: (row) => row.name, cell: (row) => row.name },
    { name: 'Text', key: (row) => row.text, cell: (row) => row.text, kind: 'text' },
  ];
  let [shown, from, by, isDown] = [rows, 0, 0, false];
  const filter = element('input', { type: 'search', id: 'hits-filter', autocomplete: 'off', placeholder: 'Marker, thread or text' });
  const says = element('output', { id: 'hits-says', for: 'hits-filter' });
  const body = element('tbody', {});
  const heads = columns.map((column, at) => {
    const button = element('button', { type: 'button', class: 'sort' }, column.name);
    button.addEventListener('click', () => {
      isDown = by === at && !isDown;
      by = at;
      sort();
    });
    return element('th', { scope: 'col', class: column.kind ?? null, 'aria-sort': 'none' }, button);
  });
  const pager = {
    before: element('button', { type: 'button', click: () => turn(-PAGE_ROWS) }, 'Previous'),
    after: element('button', { type: 'button', click: () => turn(PAGE_ROWS) }, 'Next'),
    says: element('span', { class: 'readout' }),
  };
  const draw = () => {
    const part = shown.slice(from, from + PAGE_ROWS);
    body.replaceChildren(
      ...part.map((row) => {
        const time = element('button', { type: 'button', class: 'link', title: 'Show it in the timeline', click: () => timeline.showHit(row.hit.number, row.time) }, columns[0].cell(row));
        return element('tr', {}, element('td', { class: 'number' }, time), ...columns.slice(1).map((column) => element('td', { class: column.kind ?? null }, column.cell(row))));
      }),
    );
    heads.forEach((head, at) => head.setAttribute('aria-sort', by === at ? (isDown ? 'descending' : 'ascending') : 'none'));
    pager.before.disabled = from === 0;
    pager.after.disabled = from + PAGE_ROWS >= shown.length;
    pager.says.textContent = shown.length ? `${count(from + 1)} to ${count(Math.min(from + PAGE_ROWS, shown.length))} of ${count(shown.length)}` : 'none';
    says.textContent = `${counted(shown.length, 'hit')} of ${count(rows.length)} in this table`;
  };
  const turn = (by) => {
    from = Math.max(0, Math.min(from + by, shown.length - 1));
    draw();
  };
  const compare = (a, b) => (typeof a === 'number' ? a - b : a < b ? -1 : a > b ? 1 : 0);
  const sort = () => {
    const { key } = columns[by];
    shown = [...shown].sort((a, b) => (isDown ? -1 : 1) * compare(key(a), key(b)) || a.hit.number - b.hit.number);
    from = 0;
    draw();
  };
  filter.addEventListener('input', () => {
    const wanted = filter.value.trim().toLowerCase();
    shown = wanted ? rows.filter((row) => row.searched.includes(wanted)) : rows;
    sort();
  });
  const caption = rows.length < data.about.hits
    ? `${count(rows.length)} of ${count(data.about.hits)} hits: every ${count(data.listed.every)}th, and those in the slowest intervals`
    : `All ${counted(rows.length, 'hit')}`;
  draw();
  return section(
    'hits',
    'Hits',
    element('div', { class: 'bar-of-tools' }, element('label', { for: 'hits-filter' }, 'Filter '), filter, says),
    element('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': 'Hits' }, element('table', { class: 'hits' }, element('caption', {}, caption), element('thead', {}, element('tr', {}, ...heads)), body)),
    element('div', { class: 'bar-of-tools' }, pager.before, pager.after, pager.says),
  );
}

