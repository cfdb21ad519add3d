// What is found in the timeline, and what is said of it.

class TimelineItems extends TimelineDrawing {
  /** Finds hits whose marker, thread or arguments have a text. @param {string} text */
  find(text) {
    const wanted = text.trim().toLowerCase();
    this.lanes.forEach((lane) => (lane.found = null));
    this.found = null;
    if (!wanted) {
      this.searchSays.textContent = '';
      return this.redraw();
    }
    const { markers, every, times } = this.ticks;
    const isNamed = this.data.rates.series.map((_, number) => this.seriesName(number).toLowerCase().includes(wanted));
    const isFound = new Uint8Array(times.length);
    let all = 0;
    for (let at = 0; at < markers.length; at++) if (isNamed[markers[at]]) all += isFound[at] = 1;
    let byText = 0;
    for (const [number, hit] of this.details) {
      if (number % every === 0 && isFound[number / every] === 0 && hit.text.toLowerCase().includes(wanted)) {
        isFound[number / every] = 1;
        byText += 1;
      }
    }
    this.found = { isFound };
    for (const lane of this.lanes) lane.found = lane.times.filter((_, index) => isFound[lane.ticks[index]] === 1);
    const sampled = this.data.listed.every > 1 ? ` (texts of one in ${count(this.data.listed.every)} hits are searched)` : '';
    this.searchSays.textContent = `${counted(all + byText, 'hit')}${sampled}`;
    return this.redraw();
  }

  /** Selects the next hit that was found. @param {1 | -1} direction */
  nextFound(direction) {
    if (!this.found) return;
    const { isFound } = this.found;
    const now = this.selected?.kind === 'hit' ? this.selected.at : lowerBound(this.ticks.times, this.view.from) - 1;
    for (let step = 1; step <= isFound.length; step++) {
      const at = (now + direction * step + 2 * isFound.length) % isFound.length;
      if (isFound[at] !== 1) continue;
      const lane = this.lanes.find((it) => it.track === this.ticks.tracks[at]);
      if (!lane) return;
      this.select({ kind: 'hit', at, lane });
      this.reveal();
      return;
    }
  }

  inspect() {
    const title = (text) => element('h3', { id: 'inspector-title' }, text);
    const item = this.selected;
    if (!item) {
      this.inspector.replaceChildren(title('Nothing selected'), element('p', { class: 'quiet' }, 'Select a tick or a slice, with a click or with the keys.'));
      return;
    }
    const zoom = element('button', { type: 'button', click: () => this.zoomTo(item) }, 'Zoom to it');
    if (item.kind === 'hit') {
      const hit = this.details.get(item.at * this.ticks.every);
      this.inspector.replaceChildren(title(this.seriesName(this.ticks.markers[item.at])), ...hitDetails(this.data, hit, this.ticks.times[item.at], item.lane), zoom);
      return;
    }
    const [begin, took] = [this.slices.begins[item.at], this.slices.tooks[item.at]];
    const ends = [['Begin', this.slices.firsts[item.at] - 1, begin], ['End', this.slices.lasts[item.at] - 1, begin + took]].filter(([, number]) => number >= 0);
    const parts = ends.map(([name, number, time]) => {
      const hit = this.details.get(number);
      return element('details', { open: name === 'Begin' }, element('summary', {}, hit ? `${name}: ${hit.marker ?? hit.event}` : name), ...hitDetails(this.data, hit, time, null));
    });
    this.inspector.replaceChildren(title(this.sliceName(item.at)), terms([['Took', duration(took)], ['From', moment(begin)], ['To', moment(begin + took)], ['Track', item.lane.label]]), ...parts, zoom);
  }
}

/** What is known of a hit. @param {any} data @param {any} hit @param {number} time @param {Lane | null} lane */
function hitDetails(data, hit, time, lane) {
  if (!hit) {
    return [
      terms([['At', moment(time)], ['Track', lane ? `${lane.label} ${lane.detail}` : null]]),
      element('p', { class: 'quiet' }, `Its arguments are not in this page: it has those of one in ${count(data.listed.every)} hits. smark report prints them all.`),
    ];
  }
  const marker = data.markers.find((it) => it.name === (hit.marker ?? hit.event));
  const values = (hit.args ?? []).map((argument) => [
    element('code', {}, argument.text),
    argument.why ? element('span', { class: 'verdict lost' }, `<${argument.why}>${'maybe' in argument ? ` maybe ${valueText(argument.maybe)}` : ''}`) : `${argument.name ? `${argument.name} = ` : ''}${valueText(argument.value)}`,
  ]);
  const fields = Object.entries(hit.fields ?? {}).map(([name, value]) => [element('code', {}, name), valueText(value)]);
  return [
    hit.text ? element('p', { class: 'message' }, hit.text) : null,
    terms([
      ['At', moment(time)],
      ['Thread', `${hit.comm} ${hit.pid === hit.tid ? hit.pid : `${hit.pid}/${hit.tid}`}`],
      ['Task', hit.task === undefined || hit.task === null ? null : String(hit.task)],
      ['CPU', String(hit.cpu)],
      ['Source', marker?.file ? `${marker.file}:${marker.line}` : null],
      ['Site', hit.site ?? null],
    ]),
    hit.is_too_large ? element('p', { class: 'quiet' }, 'Its arguments are too large for this page.') : null,
    values.length + fields.length ? table('Arguments', ['Argument', 'Value'], [...values, ...fields]) : null,
  ].filter(Boolean);
}

