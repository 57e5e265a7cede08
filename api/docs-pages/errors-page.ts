import { type ErrorName, errorTable } from '../../shared/errors.js';
import { errorNames, exampleEnvelope } from '../openapi/error-examples.js';
import { type Html, html } from './html.js';
import { jsonCode } from './json-code.js';
import { type Page, pageFrame } from './page-frame.js';

/**
 * The page at `/docs/errors`: every code with its status, meaning, remedy and an example. `#<code>` finds a code.
 * @param docsUrl address of the documentation for the examples, without a trailing slash
 */
export function errorsPage(docsUrl: string): Page {
  const codes = namesByCode();
  const main = html`<section class="about">
<h1>Errors</h1>
<p>Every reply that is not a success has this envelope. Branch on <code>error.code</code>: codes never change, and new ones
may be added. <code>message</code> is for people, and its words may change.</p>
<table>
<thead><tr><th scope="col">Code</th><th scope="col">Status</th><th scope="col">Retry the same call?</th></tr></thead>
<tbody>
${[...codes].map(overviewRow)}</tbody>
</table>
</section>
${[...codes].map(([code, names]) => codeSection(code, names, docsUrl))}`;
  return pageFrame({
    title: 'Leadscore API: errors',
    description: 'Every error code of the Leadscore API: what it means and what to do.',
    toRoot: '../',
    current: 'errors',
    navigation: [
      {
        title: 'Codes',
        links: [...codes.keys()].map((code) => ({ href: `#${code}`, label: html`${code}` })),
      },
    ],
    main,
  });
}

/** The entries of the error table by code: `bad_request` has two, told apart by status. */
function namesByCode(): Map<string, ErrorName[]> {
  const codes = new Map<string, ErrorName[]>();
  for (const name of errorNames) {
    const { code } = errorTable[name];
    codes.set(code, [...(codes.get(code) ?? []), name]);
  }
  return codes;
}

function overviewRow([code, names]: readonly [string, readonly ErrorName[]]): Html {
  const statuses = names.map((name) => errorTable[name].status).join(' or ');
  const isRetryable = names.some((name) => errorTable[name].retryable);
  return html`<tr><th scope="row"><a href="#${code}"><code>${code}</code></a></th><td>${statuses}</td><td>${isRetryable ? 'yes' : 'no'}</td></tr>
`;
}

function codeSection(code: string, names: readonly ErrorName[], docsUrl: string): Html {
  return html`<section class="topic split error" id="${code}">
<div class="about">
<h2><code>${code}</code></h2>
${names.map(meaningOf)}</div>
<div class="examples">
${names.map((name) => html`<p class="endpoint"><span class="status">${errorTable[name].status}</span></p>\n${jsonCode(exampleEnvelope(name, docsUrl))}`)}</div>
</section>
`;
}

function meaningOf(name: ErrorName): Html {
  const { status, retryable, meaning, remedy } = errorTable[name];
  return html`<dl>
<dt>Status</dt><dd><span class="status">${status}</span></dd>
<dt>Meaning</dt><dd>${meaning}</dd>
<dt>What to do</dt><dd>${remedy}</dd>
<dt>Retry the same call?</dt><dd>${retryable ? 'Yes, after a pause.' : 'No.'}</dd>
</dl>
`;
}
