// How often markers were hit over time: a line for each, which its row in the table shows or hides.

/** The most lines at first. */
const FIRST_LINES = 6;

/** The most columns, and the fewest hits of a column on average: fewer would be noise. */
const MOST_COLUMNS = 256;
const HITS_PER_COLUMN = 8;

/** How many bins become one column, and how many columns there are. @param {any} data */
function columnsOf(data) {
  const { bins } = data.rates;
  const wanted = Math.max(16, Math.min(MOST_COLUMNS, data.about.hits / HITS_PER_COLUMN));
  const factor = 2 ** Math.max(0, Math.ceil(Math.log2(bins / wanted)));
  return { factor, columns: Math.ceil(bins / factor) };
}

/**
 * @param {any} data
 * @param {Uint32Array} counts those of the first series, then those of the second one, and so on
 */
function ratesSection(data, counts) {
  const { series } = data.rates;
  const { factor, columns: bins } = columnsOf(data);
  const width = data.rates.bin_ns * factor;
  const seconds = width / 1e9;
  const times = Array.from({ length: bins }, (_, bin) => bin * seconds);
  const sum = (of, bin) => of.subarray(bin * factor, (bin + 1) * factor).reduce((all, hits) => all + hits, 0);
  const rates = series.map((_, at) => {
    const own = counts.subarray(at * data.rates.bins, (at + 1) * data.rates.bins);
    return times.map((_, bin) => sum(own, bin) / seconds);
  });
  const names = series.map((marker) => data.markers[marker].name);
  const order = series.map((_, at) => at).sort((a, b) => data.counts[b].hits - data.counts[a].hits);
  const isShown = series.map((_, at) => order.indexOf(at) < FIRST_LINES);
  const place = element('div', { class: 'chart', role: 'img', 'aria-label': 'Hits per second of each marker over time. The table below has the numbers.' });
  const readout = element('p', { class: 'readout' }, 'Point at the chart for values. Drag to zoom, double-click for all.');
  /** @type {any} */
  let chart = null;
  const say = (self) => {
    const at = self.cursor.idx;
    if (at === null || at === undefined) return;
    const parts = order.filter((number) => isShown[number]).map((number) => `${seriesSign(number)} ${names[number]} ${perSecond(rates[number][at])}`);
    readout.textContent = `At ${duration(at * width)}: ${parts.join(', ')}`;
  };
  const draw = () => {
    chart?.destroy();
    const [text, grid] = [themeColour('quiet'), themeColour('line')];
    const axis = { stroke: text, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 }, font: '12px system-ui, sans-serif' };
    chart = new uPlot(
      {
        width: Math.max(place.clientWidth, 240),
        height: 260,
        legend: { show: false },
        cursor: { points: { size: 6 } },
        scales: { x: { time: false } },
        axes: [
          { ...axis, values: (_, all) => all.map((value) => duration(value * 1e9)) },
          { ...axis, size: 72, values: (_, all) => all.map(perSecond) },
        ],
        series: [{}, ...series.map((_, at) => ({ label: names[at], show: isShown[at], stroke: seriesColour(at), width: 2, dash: seriesDash(at), paths: uPlot.paths.stepped({ align: 1 }), points: { show: bins < 3 } }))],
        hooks: { setCursor: [say] },
      },
      [times, ...rates],
      place,
    );
  };
  const rows = order.map((at) => {
    const total = data.counts[at].hits;
    const peak = rates[at].reduce((best, rate, bin) => (rate > rates[at][best] ? bin : best), 0);
    const toggle = element('button', { type: 'button', class: 'toggle', 'aria-pressed': String(isShown[at]) }, swatch(at), lineSample(at), ` ${names[at]}`);
    toggle.addEventListener('click', () => {
      isShown[at] = !isShown[at];
      toggle.setAttribute('aria-pressed', String(isShown[at]));
      chart?.setSeries(at + 1, { show: isShown[at] });
    });
    const all = bins * seconds;
    return [toggle, count(total), perSecond(all ? total / all : 0), perSecond(rates[at][peak] ?? 0), duration(peak * width)];
  });
  const made = section(
    'rates',
    'Rates over time',
    bins ? place : element('p', { class: 'quiet' }, 'There are no hits.'),
    bins ? readout : null,
    table(`Hits of each marker; a column of the chart is ${duration(width)}. Press a name to show or hide its line.`, ['Marker', ['Hits', 'number'], ['Mean', 'number'], ['Highest', 'number'], ['At', 'number']], rows),
  );
  if (bins) {
    requestAnimationFrame(draw);
    document.addEventListener('theme', draw);
    let last = 0;
    new ResizeObserver(() => {
      if (chart && Math.abs(place.clientWidth - last) > 1) chart.setSize({ width: Math.max(place.clientWidth, 240), height: 260 });
      last = place.clientWidth;
    }).observe(place);
  }
  return made;
}

