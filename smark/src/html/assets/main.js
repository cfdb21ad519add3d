// Shows the data.

async function showRecording(data, main) {
  const { rates, ticks, slices } = data;
  const counts = await streamNumbers('rates', new Uint32Array(rates.series.length * rates.bins));
  main.append(summarySection(data), ratesSection(data, counts), intervalsSection(data));
  const tickData = {
    every: ticks.every,
    times: await streamNumbers('tick-times', new Float64Array(ticks.shown), true),
    tracks: await streamNumbers('tick-tracks', new Uint32Array(ticks.shown)),
    markers: await streamNumbers('tick-markers', new Uint32Array(ticks.shown)),
  };
  const sliceData = {
    begins: await streamNumbers('slice-begins', new Float64Array(slices.shown), true),
    tooks: await streamNumbers('slice-times', new Float64Array(slices.shown)),
    pairs: await streamNumbers('slice-pairs', new Uint32Array(slices.shown)),
    tracks: await streamNumbers('slice-tracks', new Uint32Array(slices.shown)),
    firsts: await streamNumbers('slice-firsts', new Float64Array(slices.shown)),
    lasts: await streamNumbers('slice-lasts', new Float64Array(slices.shown)),
  };
  const details = new Map();
  for (const hit of await streamLines('hits')) details.set(hit.number, hit);
  for (const interval of data.slowest) for (const hit of interval.hits) details.set(hit.number, hit);
  const timeline = new Timeline(data, tickData, sliceData, details);
  const listed = [...details.values()].sort((a, b) => a.number - b.number);
  const parts = [timeline.node, slowestSection(data, timeline), stacksSection(data), hitsSection(data, listed, timeline), markersSection(data)];
  main.append(...parts.filter((part) => part !== null));
}

/** The links to the sections of a page. @param {any} data */
function sectionsOf(data) {
  if (data.kind === 'review') return [['summary', 'Summary'], ['markers', 'Markers']];
  if (data.kind === 'counts') return [['summary', 'Summary'], ['counts', 'Counts'], ...(data.pairs.length ? [['intervals', 'Durations']] : []), ...(data.stacks.length ? [['stacks', 'Stacks']] : [])];
  return [['summary', 'Summary'], ['rates', 'Rates'], ['intervals', 'Durations'], ['timeline', 'Timeline'], ...(data.slowest?.length ? [['slowest', 'Slowest']] : []), ...(data.stacks?.length ? [['stacks', 'Stacks']] : []), ['hits', 'Hits'], ['markers', 'Markers']];
}

function showCounts(data, main) {
  const parts = [countsSummary(data), countsSection(data), data.pairs.length ? intervalsSection(data) : null, stacksSection(data)];
  main.append(...parts.filter((part) => part !== null));
}

async function showPage() {
  const data = blockJson('data');
  const main = element('main', { id: 'main', tabindex: '-1' });
  const spoken = element('p', { id: 'spoken', class: 'unseen', role: 'status' });
  document.body.append(pageHeader(data, sectionsOf(data)), main, spoken);
  if (data.kind === 'review') {
    const markers = await streamLines('markers');
    main.append(reviewSummary(data, markers), reviewSection(data, markers));
  } else if (data.kind === 'counts') showCounts(data, main);
  else await showRecording(data, main);
  document.body.append(aboutSection(data));
  document.documentElement.dataset.ready = 'true';
}

showPage().catch((error) => {
  document.body.append(element('p', { class: 'warning', role: 'alert' }, `The page cannot be shown: ${error}. It needs a browser of 2023 or later.`));
  throw error;
});
