import { useCallback, useEffect, useLayoutEffect, useState } from 'preact/hooks';
import { call } from './call.js';

/** A reply that a page needs: one of `data` and `problem` is set once loading ended. */
export interface Loaded<Reply> {
  readonly data: Reply | undefined;
  readonly problem: Error | undefined;
  /** Loads again, and shows the old reply until the new one arrives. */
  readonly reload: () => void;
}

/** Loads a document of the management API when a page opens, and again when the address changes. */
export function useLoad<Reply>(path: string | undefined): Loaded<Reply> {
  const [round, setRound] = useState(0);
  const [state, setState] = useState<{ path?: string; data?: Reply; problem?: Error }>({});
  // An effect would wait for the browser to paint first.
  useLayoutEffect(() => {
    if (path === undefined) return;
    let isCurrent = true; // a slow reply for an earlier address must not replace a later one
    call<Reply>('GET', path).then(
      (data) => isCurrent && setState({ path, data }),
      (problem) => isCurrent && setState({ path, problem }),
    );
    return () => {
      isCurrent = false;
    };
  }, [path, round]);
  const isOwn = state.path === path;
  return {
    data: isOwn ? state.data : undefined,
    problem: isOwn ? state.problem : undefined,
    reload: useCallback(() => setRound((before) => before + 1), []),
  };
}

/** Loads again at an interval while the page is seen, and while what it shows moves. */
export function useRefresh({ reload }: Pick<Loaded<unknown>, 'reload'>, everyMs: number, isMoving = true): void {
  useEffect(() => {
    if (!isMoving) return;
    const timer = setInterval(() => document.hidden || reload(), everyMs);
    return () => clearInterval(timer);
  }, [reload, everyMs, isMoving]);
}
