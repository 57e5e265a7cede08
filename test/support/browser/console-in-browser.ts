import type { Browser, BrowserContextOptions } from 'playwright-core';
import { type ConsolePage, openBrowser, openPage } from '../admin/console-browser.js';
import type { ConsoleService } from '../admin/console-service.js';
import { sharedConsole } from '../admin/shared-console.js';

/** A console and the shared browser. Both members are set before the first test. */
export interface ConsoleInBrowser {
  readonly service: ConsoleService;
  readonly browser: Browser;
  /** As `openPage`. */
  open(options?: BrowserContextOptions, expected?: readonly (number | string)[]): Promise<ConsolePage>;
}

/**
 * Gives the tests of a suite a console in a browser. It is called in the suite, after its time limit and before its
 * other hooks.
 * @param start the console that all organisations share, without another one
 */
export function consoleInBrowser(start: () => Promise<ConsoleService> = sharedConsole): ConsoleInBrowser {
  let browser: Browser;
  let service: ConsoleService;
  before(async function () {
    browser = await openBrowser(this);
    service = await start();
  });
  return {
    get service() {
      return service;
    },
    get browser() {
      return browser;
    },
    open: (options, expected) => openPage(browser, service, options, expected),
  };
}
