import { useState } from 'preact/hooks';
import { call } from './call.js';

/** Changes that a page sends. */
export interface Sender {
  /** Whether a request is in flight. Buttons are disabled meanwhile, so that a second press sends nothing. */
  readonly isBusy: boolean;
  /** Why the last request failed. */
  readonly problem: Error | undefined;
  /** Resolves with the reply, or with undefined if the request failed. */
  send<Reply>(method: string, path: string, body?: unknown): Promise<Reply | undefined>;
}

/** Sends changes to the management API, one at a time. */
export function useSend(): Sender {
  const [state, setState] = useState<{ isBusy: boolean; problem?: Error }>({ isBusy: false });
  const send = async <Reply>(method: string, path: string, body?: unknown): Promise<Reply | undefined> => {
    setState({ isBusy: true });
    try {
      const reply = await call<Reply>(method, path, body);
      setState({ isBusy: false });
      return reply;
    } catch (problem) {
      setState({ isBusy: false, problem: problem as Error });
      return undefined;
    }
  };
  return { isBusy: state.isBusy, problem: state.problem, send };
}
