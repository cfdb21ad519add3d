// How long intervals took: percentiles, a histogram, and a map over time.

/** Shades of a map, on a logarithmic scale from 0 to 1. @param {number} number @param {number} most */
function shade(number, most) {
  return number === 0 ? 0 : most <= 1 ? 1 : 0.18 + 0.82 * (Math.log(number) / Math.log(most));
}

/** A bar for each power of two. @param {any} time the object of the JSON of counts */
function histogram(time) {
  const buckets = time.histogram ?? [];
  const most = Math.max(1, ...buckets.map((bucket) => bucket[2]));
  const all = buckets.reduce((sum, bucket) => sum + bucket[2], 0);
  const percentiles = ['p50', 'p90', 'p99'].map((name) => [name, time.time[name]]);
  const rows = buckets.map(([low, high, number]) => {
    const marks = percentiles.filter(([, value]) => value >= low && value <= high).map(([name]) => name);
    const bar = element('span', { class: 'bar' }, element('span', {}));
    bar.firstElementChild.style.width = `${(100 * number) / most}%`;
    return [duration(low), bar, count(number), `${((100 * number) / all).toFixed(1)} %`, marks.join(' ')];
  });
  return table('Durations by powers of two', [['From', 'number'], 'Share', ['Count', 'number'], ['Percent', 'number'], 'Percentile'], rows, 'histogram');
}

/** A map: time goes to the right, durations go up. @param {any} heat @param {string} name */
function heatMap(heat, name) {
  const { column, rows } = heat;
  const columns = Math.max(0, ...rows.map((row) => row[2].length));
  const most = Math.max(1, ...rows.flatMap((row) => row[2]));
  const canvas = element('canvas', { class: 'heat', role: 'img', 'aria-label': `Durations of ${name} over time. The table below has the numbers.` });
  canvas.style.height = `${rows.length * 22 + 26}px`;
  const tip = element('p', { class: 'readout' }, `A column is ${duration(column)}. The darkest cell has ${counted(most, 'interval')}.`);
  const left = 66;
  const place = (width) => ({ cell: (width - left) / Math.max(columns, 1), height: 22 });
  const draw = keepDrawn(canvas, (context, width) => {
    const { cell, height } = place(width);
    context.font = '12px system-ui, sans-serif';
    context.textBaseline = 'middle';
    rows.forEach(([low, , counts], row) => {
      const y = (rows.length - 1 - row) * height;
      context.globalAlpha = 1;
      context.fillStyle = themeColour('quiet');
      context.textAlign = 'right';
      context.fillText(duration(low), left - 8, y + height / 2);
      context.fillStyle = themeColour('line');
      context.globalAlpha = 0.35;
      context.fillRect(left, y, width - left, height - 2);
      context.fillStyle = themeColour('heat');
      counts.forEach((number, at) => {
        if (!number) return;
        context.globalAlpha = shade(number, most);
        context.fillRect(left + at * cell, y, Math.max(1, cell - 1), height - 2);
      });
    });
    context.globalAlpha = 1;
    context.fillStyle = themeColour('quiet');
    context.textBaseline = 'top';
    const y = rows.length * height + 6;
    const step = Math.max(1, Math.ceil(90 / cell));
    for (let at = 0; at <= columns; at += step) {
      const x = left + at * cell;
      context.textAlign = at === 0 ? 'left' : x > width - 40 ? 'right' : 'center';
      context.fillText(duration(at * column), x, y);
    }
  });
  canvas.addEventListener('pointermove', (event) => {
    const box = canvas.getBoundingClientRect();
    const { cell, height } = place(box.width);
    const at = Math.floor((event.clientX - box.left - left) / cell);
    const row = rows[rows.length - 1 - Math.floor((event.clientY - box.top) / height)];
    const number = row?.[2][at];
    if (number === undefined) return;
    tip.textContent = `From ${duration(at * column)} to ${duration((at + 1) * column)}: ${counted(number, 'interval')} took ${duration(row[0])} to ${duration(row[1])}.`;
  });
  draw();
  const asTable = () =>
    table(
      `${name}: how many intervals ended in each column of ${duration(column)}`,
      ['Took from', ...Array.from({ length: columns }, (_, at) => /** @type {[string, string]} */ ([duration(at * column), 'number']))],
      [...rows].reverse().map(([low, , counts]) => [duration(low), ...Array.from({ length: columns }, (_, at) => (counts[at] ? count(counts[at]) : '·'))]),
    );
  return element('div', {}, element('h4', {}, 'Durations over time'), canvas, tip, folded('The map as a table', asTable));
}

/** What is said of hits that are in no interval. @param {any} pair */
function openPairs(pair) {
  const of = pair.time.time;
  const parts = [];
  if (of.ends_without_start > 0) parts.push(`${count(of.ends_without_start)} × ${pair.to} came without a ${pair.from}.`);
  if (of.starts_without_end > 0) {
    const ages = of.open ? ` They were open for ${duration(of.open.p50)} at the median, ${duration(of.open.max)} at most.` : '';
    parts.push(`${count(of.starts_without_end)} × ${pair.from} had no ${pair.to} until the end.${ages}`);
  }
  if (of.is_doubtful) {
    const keys = of.keys?.length ? ` An argument that is in both may tell which belong together: ${of.keys.join(', ')}.` : '';
    parts.push(`The times may be of hits that do not belong together.${keys}`);
  }
  if (pair.not_in_slices?.key_not_read > 0) parts.push(`The key of ${counted(pair.not_in_slices.key_not_read, 'hit')} could not be read.`);
  return parts.length ? element('ul', { class: 'warning' }, ...parts.map((text) => element('li', {}, text))) : element('p', { class: 'quiet' }, 'Every begin has its end.');
}

/** How long the intervals of each value took. @param {any} time */
function timesByValue(time) {
  if (!time.by) return null;
  const rows = time.by.map(([value, number, times, name]) => [name ?? valueText(value), count(number), duration(times.p50), duration(times.p90), duration(times.p99)]);
  if (time.other) rows.push(['all others', count(time.other), '', '', '']);
  return table('By value', ['Value', ['Intervals', 'number'], ['p50', 'number'], ['p90', 'number'], ['p99', 'number']], rows);
}

/** The parts of the time. @param {any} time */
function splitParts(time) {
  const split = time.time.split;
  if (!split) return null;
  const all = time.time.sum ?? 0;
  // As the thread or the task goes through them.
  const order = ['on_cpu', 'queued', 'blocked', 'polled', 'scheduled', 'waiting', 'not_polled'];
  const rows = order.filter((name) => split[name]).map((name) => {
    const of = split[name];
    const bar = element('span', { class: 'bar' }, element('span', {}));
    bar.firstElementChild.style.width = `${all ? (100 * of.sum) / all : 0}%`;
    return [name.replaceAll('_', ' '), bar, duration(of.sum), all ? `${((100 * of.sum) / all).toFixed(1)} %` : '–', ...['p50', 'p90', 'p99', 'max'].map((field) => duration(of[field] ?? 0))];
  });
  return table('Where the time goes', ['Part', 'Share', ['Sum', 'number'], ['Percent', 'number'], ['p50', 'number'], ['p90', 'number'], ['p99', 'number'], ['max', 'number']], rows);
}

/** @param {any} pair @param {number} number */
function pairCard(pair, number) {
  const { time } = pair.time;
  const key = pair.is_call ? 'The calls of a function.' : pair.is_span ? 'A span: each begin and its end.' : pair.key?.length ? `By the same ${pair.key.join(', ')}, in any thread of the process.` : 'In the same thread.';
  const figures = ['count', 'min', 'p50', 'p90', 'p99', 'max'].map((name) => {
    const value = time[name];
    return element('li', {}, element('strong', {}, name === 'count' ? count(value) : value === null ? '–' : duration(value)), element('span', {}, name === 'count' ? 'intervals' : name));
  });
  return element(
    'article',
    { class: 'card', 'aria-labelledby': `pair-${number}` },
    element('h3', { id: `pair-${number}` }, swatch(number), ` ${pair.name}`),
    element('p', { class: 'quiet' }, key),
    element('ul', { class: 'figures small' }, ...figures),
    openPairs(pair),
    time.count ? element('div', { class: 'columns' }, histogram(pair.time), time.heat?.rows.length ? heatMap(time.heat, pair.name) : null) : null,
    splitParts(pair.time),
    timesByValue(pair.time),
  );
}

/** @param {any} data */
function intervalsSection(data) {
  const none = element('p', { class: 'quiet' }, 'No pair was asked for, and there are no spans. smark report --to html --pair A..B measures from marker A to marker B.');
  return section('intervals', 'How long it took', ...(data.pairs.length ? data.pairs.map(pairCard) : [none]));
}

