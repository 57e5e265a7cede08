/** Tabs of one browser have one session. */
const tabs = new BroadcastChannel('session');
let ask = () => {};

/** Sets how this tab empties its page and asks again who is signed in. */
export function onSessionChange(askAgain: () => void): void {
  ask = askAgain;
  tabs.onmessage = askAgain;
}

/** The server no longer knows the session of this tab. */
export const sessionIsGone = (): void => ask();

/** This tab has begun or ended the session of all tabs. */
export const tellOtherTabs = (): void => tabs.postMessage('changed');
