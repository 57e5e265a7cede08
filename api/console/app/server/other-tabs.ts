/** Tabs of one browser have one session. */
const tabs = new BroadcastChannel('session');
const endings = new Set<() => void>();
let ask = () => {};

/** Sets how this tab empties its page and asks again who is signed in. */
export function onSessionChange(askAgain: () => void): void {
  ask = () => {
    for (const end of endings) end();
    askAgain();
  };
  tabs.onmessage = () => ask();
}

/** Calls a function when the session ends or becomes another one, before the page is emptied. */
export const onSessionEnd = (end: () => void): void => void endings.add(end);

/** The server no longer knows the session of this tab. */
export const sessionIsGone = (): void => ask();

/** This tab has begun or ended the session of all tabs. */
export const tellOtherTabs = (): void => tabs.postMessage('changed');
