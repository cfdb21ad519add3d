// A headless Chromium, and a page whose every message, error and request is noted.

import { chromium } from 'playwright-core';

const FLAGS = [
  '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync',
];

export async function start() {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: FLAGS });
}

/** Opens a file, and waits until it is shown. */
export async function open(browser, file, { width = 1400, height = 900, colorScheme = 'light', reducedMotion = 'no-preference' } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme, reducedMotion });
  const page = await context.newPage();
  const problems = [];
  page.on('console', (message) => problems.push(`${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => problems.push(`error: ${error.message}`));
  page.on('dialog', (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on('request', (request) => {
    if (!request.url().startsWith('file:') || request.url() !== encodeURI(`file://${file}`).replace(/#.*/, '')) problems.push(`request: ${request.url().slice(0, 200)}`);
  });
  const begin = Date.now();
  await page.goto(`file://${file}`);
  await page.waitForFunction(() => document.documentElement.dataset.ready === 'true', null, { timeout: 60_000 });
  return { page, problems, took: Date.now() - begin, close: () => context.close() };
}
