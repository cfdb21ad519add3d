// Opens pages of smark in a browser, uses them, and compares what they show with what `smark report --json` says.
//
// look.mjs SLICES.html SLICES.json HOSTILE.html [OTHER.html...]

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { open, start } from './browser.mjs';

const [slices, json, hostile, ...others] = process.argv.slice(2);
const hits = readFileSync(json, 'utf8').trim().split('\n').map((line) => JSON.parse(line)).filter((hit) => hit.marker);
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const browser = await start();
let tests = 0;

async function test(name, file, options, body) {
  const opened = await open(browser, file, options);
  await body(opened.page);
  assert.deepEqual(opened.problems, [], name);
  await opened.close();
  tests += 1;
  console.log(`ok ${name}`);
}

const text = (page, selector) => page.locator(selector).first().innerText();
const key = (page, ...keys) => keys.reduce((before, one) => before.then(() => page.locator('.lanes').press(one)), Promise.resolve());
const rows = (page) => page.locator('#hits tbody tr');
const status = (page) => page.locator('.stage > .readout').innerText();

/** What axe finds, with all that is folded open. */
async function finds(page) {
  for (let round = 0; round < 3; round++) await page.evaluate(() => document.querySelectorAll('details').forEach((details) => (details.open = true)));
  await page.waitForTimeout(200);
  // The page itself lets no other script run: this one comes from the debugger.
  await page.evaluate(axe);
  const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
  return found.violations.map((it) => `${it.id}: ${it.help}: ${it.nodes.slice(0, 3).map((node) => `${node.html.slice(0, 150)} ${node.any[0]?.message ?? ''}`).join(' | ')}`);
}

for (const file of [slices, hostile, ...others]) {
  const name = file.split('/').at(-1);
  for (const [look, options] of [['light', {}], ['dark', { colorScheme: 'dark' }], ['narrow', { width: 360, height: 740 }]]) {
    await test(`axe finds nothing in ${name}, ${look}`, file, options, async (page) => assert.deepEqual(await finds(page), []));
    await test(`${name} is not wider than the window, ${look}`, file, options, async (page) => {
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth));
    });
  }
}

await test('the summary', slices, {}, async (page) => {
  assert.equal(await text(page, '.figures strong'), String(hits.length));
  const missing = await text(page, '#summary .warning');
  assert.match(missing, /Pair outer:begin\.\.outer:end: 1 × outer:end came without a outer:begin\./);
  assert.match(missing, /Pair inner:begin\.\.inner:end: 1 × inner:begin had no inner:end until the end\./);
});

await test('lines are shown and hidden', slices, {}, async (page) => {
  const toggle = page.getByRole('button', { name: 'cross:begin' });
  assert.equal(await toggle.getAttribute('aria-pressed'), 'false');
  const before = await page.locator('.chart canvas').screenshot();
  await toggle.focus();
  await page.keyboard.press('Enter');
  assert.equal(await toggle.getAttribute('aria-pressed'), 'true');
  assert.notDeepEqual(await page.locator('.chart canvas').screenshot(), before);
});

await test('the histogram has all intervals', slices, {}, async (page) => {
  const counts = await page.locator('.card').nth(1).locator('.histogram tbody td:nth-child(3)').allInnerTexts();
  const begun = hits.filter((hit) => hit.marker === 'inner:begin').length;
  assert.equal(counts.reduce((sum, count) => sum + Number(count), 0), begun - 1);
});

await test('hits are filtered, sorted and turned', slices, {}, async (page) => {
  assert.equal(await rows(page).count(), 100);
  await page.getByRole('button', { name: 'Next', exact: true }).click();
  assert.match(await text(page, '#hits .bar-of-tools:last-child .readout'), new RegExp(`^101 to 200 of ${hits.length}$`));
  await page.fill('#hits-filter', 'request:submit');
  const submitted = hits.filter((hit) => hit.marker === 'request:submit');
  assert.equal(await rows(page).count(), submitted.length);
  assert.equal(await text(page, '#hits-says'), `${submitted.length} hits of ${hits.length} in this table`);
  await page.getByRole('button', { name: 'Text', exact: true }).click();
  const texts = submitted.map((hit) => String(hit.args[0].value)).sort();
  assert.deepEqual(await rows(page).locator('td:nth-child(4)').allInnerTexts(), texts);
  await page.getByRole('button', { name: 'Text', exact: true }).click();
  assert.deepEqual(await rows(page).locator('td:nth-child(4)').allInnerTexts(), texts.reverse());
  assert.equal(await page.locator('#hits th').nth(3).getAttribute('aria-sort'), 'descending');
  // A time leads to the hit in the timeline.
  await rows(page).first().getByRole('button').click();
  assert.equal(await text(page, '#inspector-title'), 'request:submit');
  assert.equal(await text(page, '.inspector .message'), texts[0]);
});

await test('keys zoom, move and select', slices, {}, async (page) => {
  const span = async () => (await status(page)).split(' from ')[0];
  const whole = await span();
  await key(page, '+', '+');
  const two = await span();
  assert.notEqual(two, whole);
  await key(page, '-');
  assert.notEqual(await span(), two);
  await key(page, '0');
  assert.equal(await span(), whole);
  await key(page, '+', '+', 'ArrowRight');
  const there = await status(page);
  await key(page, 'ArrowLeft');
  assert.notEqual(await status(page), there);
  await key(page, '0', '.');
  const first = hits.filter((hit) => hit.tid === hits[0].tid);
  assert.equal(await text(page, '#inspector-title'), first[0].marker);
  for (const hit of first.slice(1, 6)) {
    await key(page, '.');
    assert.equal(await text(page, '#inspector-title'), hit.marker);
    assert.equal(await text(page, '.inspector table tbody td'), String(hit.args[0].value));
  }
  await key(page, ',');
  assert.equal(await text(page, '#inspector-title'), first[4].marker);
  assert.match(await page.locator('#spoken').innerText(), new RegExp(first[4].marker));
  await key(page, '>');
  assert.match(await text(page, '#inspector-title'), /\.\./);
  await key(page, ']');
  const other = hits.find((hit) => hit.tid !== hits[0].tid);
  assert.match(await text(page, '.inspector dl'), new RegExp(`${other.tid}`));
  await key(page, 'Escape');
  assert.equal(await text(page, '#inspector-title'), 'Nothing selected');
});

await test('the wheel and a drag', slices, {}, async (page) => {
  const lanes = page.locator('.lanes');
  await lanes.scrollIntoViewIfNeeded();
  const box = await lanes.boundingBox();
  const before = await status(page);
  await page.mouse.move(box.x + box.width / 2, box.y + 100);
  await page.mouse.wheel(0, -300);
  await page.waitForTimeout(100);
  const zoomed = await status(page);
  assert.notEqual(zoomed, before);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2 - 200, box.y + 100, { steps: 4 });
  await page.mouse.up();
  const moved = await status(page);
  assert.notEqual(moved, zoomed);
  assert.equal(moved.split(' from ')[0], zoomed.split(' from ')[0]);
});

await test('a click selects a slice, and a tip says what is there', slices, {}, async (page) => {
  const lanes = page.locator('.lanes');
  await key(page, '>', 'Enter');
  const chosen = await text(page, '#inspector-title');
  await lanes.scrollIntoViewIfNeeded();
  const box = await lanes.boundingBox();
  const [x, y] = [box.x + 190 + (box.width - 190) / 2, box.y + 26 + 24 + 18 + 10];
  await key(page, 'Escape');
  await page.mouse.move(x, y);
  assert.match(await text(page, '.tip'), new RegExp(`^${chosen.replaceAll('.', '\\.')}`));
  await page.mouse.click(x, y);
  assert.equal(await text(page, '#inspector-title'), chosen);
});

await test('the search finds markers and texts', slices, {}, async (page) => {
  await page.fill('#search', 'CROSS:');
  const crossed = hits.filter((hit) => hit.marker.startsWith('cross:'));
  assert.equal(await text(page, '#search-says'), `${crossed.length} hits`);
  for (const hit of crossed.slice(0, 4)) {
    await page.locator('#search').press('Enter');
    assert.equal(await text(page, '#inspector-title'), hit.marker);
    assert.equal(await text(page, '.inspector table tbody td'), String(hit.args[0].value));
  }
  await page.locator('#search').press('Shift+Enter');
  assert.equal(await text(page, '#inspector-title'), crossed[2].marker);
  await page.fill('#search', '1002');
  assert.equal(await text(page, '#search-says'), `${hits.filter((hit) => String(hit.args[0].value).includes('1002')).length} hits`);
  await page.fill('#search', 'nothing of this kind');
  assert.equal(await text(page, '#search-says'), '0 hits');
});

await test('the slowest intervals', slices, {}, async (page) => {
  const slow = page.locator('#slowest .list details').first();
  await slow.locator('summary').click();
  const markers = await slow.locator('tbody td:nth-child(4)').allInnerTexts();
  assert.deepEqual([markers[0], markers.at(-1)], ['outer:begin', 'outer:end']);
  await slow.getByRole('button', { name: 'Show it in the timeline' }).click();
  assert.equal(await page.evaluate(() => document.activeElement.className), 'lanes');
});

await test('the theme follows the button', slices, { colorScheme: 'dark' }, async (page) => {
  const colour = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const dark = await colour();
  await page.getByRole('button', { name: 'Theme: auto' }).click();
  const light = await colour();
  assert.notEqual(light, dark);
  await page.getByRole('button', { name: 'Theme: light' }).click();
  assert.equal(await colour(), dark);
});

await test('everything is reached by the tabulator', slices, {}, async (page) => {
  const reached = new Set();
  for (let step = 0; step < 90; step++) {
    await page.keyboard.press('Tab');
    reached.add(await page.evaluate(() => document.activeElement.id || document.activeElement.className || document.activeElement.textContent));
  }
  for (const one of ['skip', 'theme', 'search', 'lanes', 'hits-filter']) assert.ok(reached.has(one), `${one}: ${[...reached]}`);
});

await test('hostile names and texts are shown as text', hostile, {}, async (page) => {
  assert.equal(await page.locator('img, b, iframe').count(), 0);
  assert.match(await text(page, '#hits tbody tr td:nth-child(4)'), /^<\/script><!--<b><\/script><script>alert\(1\)<\/script>$/);
  assert.match(await text(page, '#hits tbody tr td:nth-child(2)'), /^<svg onload=x> /);
});

await browser.close();
console.log(`${tests} tests passed`);
