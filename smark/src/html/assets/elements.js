// Elements of the page. Whatever comes from data is set as text.

/**
 * A new element. An attribute that is `null` or `false` is left out; a function is a listener.
 * @param {string} tag
 * @param {Record<string, any>} [attributes]
 * @param {...(Node | string | number | null | undefined)} children
 */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === 'function') made.addEventListener(name, value);
    else made.setAttribute(name, value === true ? '' : String(value));
  }
  made.append(...children.filter((child) => child !== null && child !== undefined).map((child) => (child instanceof Node ? child : String(child))));
  return made;
}

/**
 * A section of the page with its heading.
 * @param {string} id
 * @param {string} title
 * @param {...(Node | string | null)} children
 */
function section(id, title, ...children) {
  return element('section', { id, 'aria-labelledby': `${id}-title` }, element('h2', { id: `${id}-title` }, title), ...children);
}

/**
 * A table. Headings that are an array have a class.
 * @param {string} caption
 * @param {(string | [string, string])[]} headings
 * @param {(Node | string | number | null)[][]} rows
 * @param {string} [kind] a class
 */
function table(caption, headings, rows, kind = '') {
  const kinds = headings.map((heading) => (Array.isArray(heading) ? heading[1] : ''));
  const head = headings.map((heading, at) => element('th', { scope: 'col', class: kinds[at] || null }, Array.isArray(heading) ? heading[0] : heading));
  const body = rows.map((row) =>
    element('tr', {}, ...row.map((cell, at) => (at === 0 ? element('th', { scope: 'row', class: kinds[at] || null }, cell) : element('td', { class: kinds[at] || null }, cell)))),
  );
  const made = element('table', { class: kind }, element('caption', {}, caption), element('thead', {}, element('tr', {}, ...head)), element('tbody', {}, ...body));
  return element('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': caption }, made);
}

/**
 * Terms with what is said of them.
 * @param {[string, Node | string | number | null][]} entries those with `null` are left out
 */
function terms(entries) {
  const list = element('dl', {});
  for (const [term, value] of entries) if (value !== null) list.append(element('div', {}, element('dt', {}, term), element('dd', {}, value)));
  return list;
}

/**
 * A part that is closed at first. Its content is made when it is opened.
 * @param {Node | string} title
 * @param {() => Node} content
 */
function folded(title, content) {
  const details = element('details', {}, element('summary', {}, title));
  details.addEventListener('toggle', () => {
    if (details.childElementCount === 1) details.append(content());
  });
  return details;
}

/** Reads a message to people who do not see the page. @param {string} text */
function announce(text) {
  const region = document.getElementById('spoken');
  if (region) region.textContent = text;
}

/** A colour of the theme. @param {string} name */
function themeColour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/**
 * A canvas of a size in CSS pixels, which is drawn again when its size or the theme changes.
 * @param {HTMLCanvasElement} canvas
 * @param {(context: CanvasRenderingContext2D, width: number, height: number) => void} draw
 */
function keepDrawn(canvas, draw) {
  let isDue = false;
  const paint = () => {
    isDue = false;
    const [width, height, scale] = [canvas.clientWidth, canvas.clientHeight, window.devicePixelRatio || 1];
    const context = canvas.getContext('2d');
    if (!context || width === 0 || height === 0) return;
    const size = [Math.round(width * scale), Math.round(height * scale)];
    if (canvas.width !== size[0] || canvas.height !== size[1]) [canvas.width, canvas.height] = size;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    draw(context, width, height);
  };
  const request = () => {
    if (!isDue) requestAnimationFrame(paint);
    isDue = true;
  };
  new ResizeObserver(request).observe(canvas);
  document.addEventListener('theme', request);
  request();
  return request;
}

