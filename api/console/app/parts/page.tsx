import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { Refusal } from '../server/call.js';
import type { Loaded } from '../server/use-load.js';

/** A page: its title, a line below the title, actions at the right, and cards. */
export function Page(props: {
  readonly title: string;
  readonly about?: ComponentChildren;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  useEffect(() => {
    document.title = `${props.title} – Leadscore`;
  }, [props.title]);
  return (
    <>
      <div class="page-head">
        <div>
          <h1 tabIndex={-1}>{props.title}</h1>
          {props.about && <p class="soft">{props.about}</p>}
        </div>
        {props.actions && <div class="row">{props.actions}</div>}
      </div>
      {props.children}
    </>
  );
}

/** A box of a page with a heading. */
export function Card(props: {
  /** To which links lead. */
  readonly id?: string;
  readonly title: string;
  readonly about?: ComponentChildren;
  readonly aside?: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  return (
    <section class="card" id={props.id}>
      <div class="card-head">
        <div>
          <h2>{props.title}</h2>
          {props.about && <p class="soft small">{props.about}</p>}
        </div>
        {props.aside}
      </div>
      {props.children}
    </section>
  );
}

/** Says that a request failed, and why. Another try does not help a role that may not do it. */
export function Problem({ problem, retry }: { readonly problem: Error; readonly retry?: () => void }) {
  const requestId = problem instanceof Refusal ? problem.requestId : undefined;
  const isForbidden = problem instanceof Refusal && problem.status === 403;
  return (
    <div class="note bad" role="alert">
      <p>{problem.message}</p>
      {requestId && <p class="small">Request {requestId}</p>}
      {retry && !isForbidden && (
        <button type="button" class="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** Shows a loaded document, or that it is still loading, or why it could not be loaded. */
export function Load<Reply>(props: {
  readonly of: Loaded<Reply>;
  readonly children: (data: Reply) => ComponentChildren;
}) {
  const { data, problem, reload } = props.of;
  if (problem) return <Problem problem={problem} retry={reload} />;
  if (data === undefined)
    return (
      <p class="card soft" role="status">
        Loading…
      </p>
    );
  return <>{props.children(data)}</>;
}
