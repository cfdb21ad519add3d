// The slowest intervals, stacks, and what the page itself is.

/** An interval with the hits in it. @param {any} data @param {any} interval @param {Timeline} timeline */
function slowInterval(data, interval, timeline) {
  const pair = data.pairs[interval.pair];
  const inside = () => {
    const rows = interval.hits.map((hit) => {
      const at = hit.time_ns - data.about.start_ns - interval.begin_ns;
      const share = interval.took_ns ? Math.max(0, Math.min(100, (100 * at) / interval.took_ns)) : 0;
      const bar = element('span', { class: 'bar point' }, element('span', {}));
      bar.firstElementChild.style.marginLeft = `calc(${share}% - ${share / 100} * 6px)`;
      return [`+${duration(at)}`, bar, `${hit.comm} ${hit.tid}`, hit.marker ?? hit.event, hit.text];
    });
    const belongs = pair.is_span ? 'with its id, or in its thread meanwhile' : pair.key.length ? `with the same ${pair.key.join(', ')}` : 'in its thread meanwhile';
    const more = interval.left_out ? `; ${count(interval.left_out)} more are not shown` : '';
    return element(
      'div',
      { class: 'inside' },
      element('button', { type: 'button', click: () => timeline.showRange(interval.begin_ns, interval.took_ns) }, 'Show it in the timeline'),
      table(`${counted(interval.hits.length, 'hit')} ${belongs}${more}`, [['After', 'number'], 'Where', 'Thread', 'Marker', ['Text', 'text']], rows, 'hits'),
    );
  };
  const title = element('span', { class: 'marker-line' }, element('strong', { class: 'number' }, duration(interval.took_ns)), element('span', {}, pair.name), element('span', { class: 'quiet' }, `from ${moment(interval.begin_ns)}`), element('span', { class: 'quiet number' }, counted(interval.hits.length + interval.left_out, 'hit')));
  return folded(title, inside);
}

/** How many slow intervals of a pair are listed at first. */
const FIRST_SLOW = 5;

/** @param {any} data @param {Timeline} timeline */
function slowestSection(data, timeline) {
  if (!data.slowest.length) return null;
  const listOf = (intervals) => element('div', { class: 'list' }, ...intervals.map((interval) => slowInterval(data, interval, timeline)));
  const lists = data.pairs.map((pair, number) => {
    const own = data.slowest.filter((interval) => interval.pair === number);
    if (!own.length) return null;
    return element('div', {}, element('h3', {}, swatch(number), ` ${pair.name}`), element('p', { class: 'quiet' }, `The ${count(own.length)} slowest of ${count(pair.slices)}.`), listOf(own.slice(0, FIRST_SLOW)), own.length > FIRST_SLOW ? folded(`${count(own.length - FIRST_SLOW)} more`, () => listOf(own.slice(FIRST_SLOW))) : null);
  });
  return section('slowest', 'The slowest intervals', ...lists.filter(Boolean));
}

/** @param {any} data */
function aboutSection(data) {
  return element(
    'footer',
    {},
    element('p', {}, `Made by smark ${data.tool}. Everything is in this file; it loads nothing.`),
    folded('The licence of uPlot, which draws the charts', () => element('pre', { class: 'licence' }, blockJson('charts-license'))),
  );
}

/** The heading of the page, with links to its sections. @param {any} data @param {string[][]} links */
function pageHeader(data, links) {
  const themes = ['auto', 'light', 'dark'];
  let theme = 0;
  const button = element('button', { type: 'button', id: 'theme' });
  const apply = () => {
    if (themes[theme] === 'auto') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = themes[theme];
    button.textContent = `Theme: ${themes[theme]}`;
    document.dispatchEvent(new Event('theme'));
  };
  button.addEventListener('click', () => {
    theme = (theme + 1) % themes.length;
    apply();
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', apply);
  apply();
  return element(
    'header',
    {},
    element('a', { class: 'skip', href: '#main' }, 'Skip to the content'),
    element('h1', {}, element('span', { class: 'quiet' }, `${data.command ?? (data.kind === 'counts' ? 'smark count' : 'smark report')} `), data.name),
    element('nav', { 'aria-label': 'Sections' }, ...links.map(([id, title]) => element('a', { href: `#${id}` }, title))),
    button,
  );
}

