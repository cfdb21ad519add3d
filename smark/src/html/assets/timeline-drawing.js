// The timeline on its canvases.

class TimelineDrawing extends TimelineView {
  /** @param {CanvasRenderingContext2D} context */
  draw(context, width, height) {
    const [gutter, { from, to }] = [this.gutter, this.view];
    const scale = (width - gutter) / (to - from);
    const x = (time) => gutter + (time - from) * scale;
    const colours = { text: themeColour('text'), quiet: themeColour('quiet'), line: themeColour('line'), stripe: themeColour('stripe'), surface: themeColour('surface'), accent: themeColour('accent'), ink: themeColour('on-series') };
    const series = Array.from({ length: COLOURS }, (_, number) => seriesColour(number));
    context.font = '12px system-ui, sans-serif';
    context.textBaseline = 'middle';
    context.save();
    context.beginPath();
    context.rect(0, 26, width, height - 26);
    context.clip();
    this.drawGrid(context, width, height, x, colours);
    this.lanes.forEach((lane, number) => {
      const top = 26 + lane.top - this.scroll;
      if (top + lane.height < 26 || top > height) return;
      if (lane.isHead) {
        context.fillStyle = colours.stripe;
        context.fillRect(0, top, width, lane.height - 2);
        context.fillStyle = colours.text;
        context.font = '600 12px system-ui, sans-serif';
        context.fillText(clipped(context, lane.label, width - 20), 8, top + lane.height / 2 - 1);
        context.font = '12px system-ui, sans-serif';
        return;
      }
      if (number % 2) {
        context.globalAlpha = 0.4;
        context.fillStyle = colours.stripe;
        context.fillRect(0, top, width, lane.height);
        context.globalAlpha = 1;
      }
      this.drawTicks(context, lane, top, { x, from, to, width, gutter, series, colours });
      const below = top + (lane.ticks.length ? TICK_HEIGHT : 0);
      lane.rows.forEach((row, at) => this.drawRow(context, row, below + at * ROW_HEIGHT, { x, from, to, width, gutter, series, colours }));
      context.fillStyle = colours.surface;
      context.fillRect(0, top, gutter, lane.height);
      context.fillStyle = colours.text;
      const label = clipped(context, lane.label, gutter - 20 - (gutter > 120 ? 52 : 0));
      context.fillText(label, 10, top + Math.min(lane.height / 2, 14));
      if (gutter > 120) {
        context.fillStyle = colours.quiet;
        context.textAlign = 'right';
        context.fillText(clipped(context, lane.detail, 60), gutter - 10, top + Math.min(lane.height / 2, 14));
        context.textAlign = 'left';
      }
      context.fillStyle = colours.line;
      context.fillRect(0, top + lane.height - 1, width, 1);
    });
    context.restore();
    this.drawAxis(context, width, height, x, colours);
  }

  /** Where lines and their times are: a step, and the places. */
  gridTimes(width) {
    const { from, to } = this.view;
    const step = niceStep(((to - from) * 110) / (width - this.gutter));
    const first = Math.ceil(from / step);
    return { step, times: Array.from({ length: Math.max(0, Math.floor(to / step) - first + 1) }, (_, at) => (first + at) * step) };
  }

  drawGrid(context, width, height, x, colours) {
    context.fillStyle = colours.line;
    context.globalAlpha = 0.6;
    for (const time of this.gridTimes(width).times) context.fillRect(Math.round(x(time)), 26, 1, height);
    context.globalAlpha = 1;
  }

  drawAxis(context, width, height, x, colours) {
    const gutter = this.gutter;
    context.fillStyle = colours.surface;
    context.fillRect(0, 0, width, 26);
    context.textAlign = 'left';
    const { step, times } = this.gridTimes(width);
    for (const time of times) {
      const at = Math.round(x(time));
      context.fillStyle = colours.line;
      context.fillRect(at, 14, 1, 12);
      context.fillStyle = colours.quiet;
      const text = axisText(time, step);
      if (at + context.measureText(text).width + 6 < width) context.fillText(text, at + 4, 13);
    }
    context.fillStyle = colours.line;
    context.fillRect(0, 25, width, 1);
    context.fillRect(gutter - 1, 0, 1, height);
    context.fillStyle = colours.quiet;
    context.fillText(clipped(context, gutter > 120 ? 'since the start' : 'time', gutter - 12), 10, 13);
  }

  /** Ticks one by one if there is room, otherwise how many there are. */
  drawTicks(context, lane, top, { x, from, to, width, gutter, series, colours }) {
    if (!lane.ticks.length) return;
    const [first, end] = [lowerBound(lane.times, from), lowerBound(lane.times, to)];
    const middle = top + TICK_HEIGHT / 2 + 1;
    const pixels = width - gutter;
    const { markers } = this.ticks;
    const isOn = (at) => !this.found || this.found.isFound[at] === 1;
    if (end - first > pixels / 2) {
      const heights = (times, colour, alpha) => {
        context.fillStyle = colour;
        context.globalAlpha = alpha;
        let at = lowerBound(times, from);
        for (let pixel = 0; pixel < pixels && at < times.length; pixel++) {
          const next = lowerBound(times, from + ((pixel + 1) / pixels) * (to - from), at);
          if (next > at) {
            const share = Math.min(1, 0.3 + Math.log2(next - at) / 10);
            context.fillRect(gutter + pixel, top + 3 + (1 - share) * (TICK_HEIGHT - 4), 1, share * (TICK_HEIGHT - 4));
          }
          at = next;
        }
      };
      heights(lane.times, colours.text, this.found ? 0.25 : 0.7);
      if (lane.found) heights(lane.found, colours.accent, 1);
      context.globalAlpha = 1;
      return;
    }
    const room = pixels / Math.max(1, end - first);
    for (let index = first; index < end; index++) {
      const at = lane.ticks[index];
      const marker = markers[at];
      const left = x(lane.times[index]);
      context.globalAlpha = isOn(at) ? 1 : 0.2;
      context.fillStyle = this.found && isOn(at) ? colours.accent : series[marker % COLOURS];
      context.fillRect(left - 0.75, top + 3, 1.5, TICK_HEIGHT - 4);
      const after = index + 1 < end ? x(lane.times[index + 1]) - left : 999;
      if (room > 6 || after > 14) context.fillText(seriesSign(marker), left + 2, middle);
      if (after > 90) context.fillText(clipped(context, this.seriesName(marker), Math.min(after - 24, 220)), left + 15, middle);
      if (this.selected?.kind === 'hit' && this.selected.at === at) {
        context.strokeStyle = colours.accent;
        context.lineWidth = 2;
        context.strokeRect(left - 4, top + 1, 8, TICK_HEIGHT - 1);
      }
    }
    context.globalAlpha = 1;
  }

  /** Slices with their names; where many are in one pixel, one for all of them. */
  drawRow(context, row, top, { x, from, to, width, gutter, series, colours }) {
    const { begins, ends, slices } = row;
    const span = (to - from) / (width - gutter);
    for (let index = lowerBound(ends, from); index < begins.length && begins[index] <= to; ) {
      const at = slices[index];
      const pair = this.slices.pairs[at];
      const [left, right] = [Math.max(x(begins[index]), gutter), Math.min(x(ends[index]), width)];
      const wide = right - left;
      context.fillStyle = series[pair % COLOURS];
      context.globalAlpha = this.found ? 0.45 : 1;
      if (wide < 1.5) {
        context.fillRect(left, top + 2, 1.5, ROW_HEIGHT - 4);
        index = Math.max(index + 1, lowerBound(begins, begins[index] + 1.5 * span, index));
      } else {
        context.fillRect(left, top + 2, Math.max(wide - 0.5, 1), ROW_HEIGHT - 4);
        if (wide > 26) {
          context.fillStyle = colours.ink;
          context.fillText(clipped(context, `${this.sliceName(at)}  ${duration(this.slices.tooks[at])}`, wide - 8), left + 4, top + ROW_HEIGHT / 2);
        }
        index += 1;
      }
      context.globalAlpha = 1;
      if (this.selected?.kind === 'slice' && this.selected.at === at) {
        context.strokeStyle = colours.text;
        context.lineWidth = 2;
        context.strokeRect(left, top + 1, Math.max(wide, 2), ROW_HEIGHT - 2);
      }
    }
  }

  drawOverview(context, width, height) {
    const { from, to } = this.whole;
    const { times } = this.ticks;
    context.fillStyle = themeColour('quiet');
    let at = 0;
    const many = new Float64Array(width);
    for (let pixel = 0; pixel < width; pixel++) {
      const next = lowerBound(times, from + ((pixel + 1) / width) * (to - from), at);
      many[pixel] = next - at;
      at = next;
    }
    const most = Math.log2(1 + Math.max(1, ...many));
    many.forEach((number, pixel) => {
      const share = Math.log2(1 + number) / most;
      context.fillRect(pixel, (1 - share) * (height - 4) + 2, 1, share * (height - 4));
    });
    const scale = width / (to - from);
    const [left, right] = [(this.view.from - from) * scale, (this.view.to - from) * scale];
    context.fillStyle = themeColour('accent');
    context.globalAlpha = 0.16;
    context.fillRect(left, 0, Math.max(right - left, 2), height);
    context.globalAlpha = 1;
    context.strokeStyle = themeColour('accent');
    context.lineWidth = 2;
    context.strokeRect(left + 1, 1, Math.max(right - left - 2, 2), height - 2);
  }
}

/** A time on the axis, with as many digits as the step needs. @param {number} time @param {number} step */
function axisText(time, step) {
  const [unit, name] = time >= 1e9 || step >= 1e9 ? [1e9, 's'] : time >= 1e6 || step >= 1e6 ? [1e6, 'ms'] : time >= 1e3 || step >= 1e3 ? [1e3, 'µs'] : [1, 'ns'];
  return `${(time / unit).toFixed(Math.max(0, Math.ceil(Math.log10(unit / step) - 1e-9)))} ${name}`;
}

/** A text that is cut to a width. @param {CanvasRenderingContext2D} context @param {string} text @param {number} width */
function clipped(context, text, width) {
  if (text.length * 10 < width || context.measureText(text).width <= width) return text;
  let [from, to] = [0, text.length];
  while (from < to) {
    const middle = (from + to + 1) >> 1;
    if (context.measureText(`${text.slice(0, middle)}…`).width <= width) from = middle;
    else to = middle - 1;
  }
  return from > 0 ? `${text.slice(0, from)}…` : '';
}

