import { type ErrorName, errorTable } from '../../shared/contract/errors.js';
import { errorNames, exampleEnvelope } from '../openapi/error-responses.js';
import { type Html, html, type Page, pageFrame } from './page-frame.js';

/**
 * The page at `/docs/errors`: each code with its status, meaning, remedy and an example. The anchor `#<code>` is the
 * target of `docs_url`.
 * @param docsUrl address of the documentation, for the examples, without a trailing slash
 */
export function errorsPage(docsUrl: string): Page {
  const codes = [...namesByCode()];
  return pageFrame({
    title: 'Leadscore API: errors',
    description: 'Every error code of the Leadscore API: its meaning and its remedy.',
    toRoot: '../',
    current: 'errors',
    body: html`<main class="article">
<h1>Errors</h1>
<p>Every unsuccessful reply has this envelope. Branch on <code>error.code</code>: codes never change, and new
ones may be added. <code>message</code> is for people, and its wording may change.</p>
<table>
<thead>
<tr><th scope="col">Code</th><th scope="col">Status</th><th scope="col">Retry the same call?</th></tr>
</thead>
<tbody>
${codes.map(overviewRow)}</tbody>
</table>
${codes.map(([code, names]) => codeSection(code, names, docsUrl))}</main>
`,
  });
}

/** Groups the error table by code: `bad_request` has two entries, with different statuses. */
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
  const retry = names.some((name) => errorTable[name].retryable) ? 'yes' : 'no';
  return html`<tr>
<th scope="row"><a href="#${code}"><code>${code}</code></a></th><td>${statuses}</td><td>${retry}</td>
</tr>
`;
}

const codeSection = (code: string, names: readonly ErrorName[], docsUrl: string): Html => html`<section id="${code}">
<h2><code>${code}</code></h2>
${names.map((name) => entry(name, docsUrl))}</section>
`;

function entry(name: ErrorName, docsUrl: string): Html {
  const { status, retryable, meaning, remedy } = errorTable[name];
  const example = JSON.stringify(exampleEnvelope(name, docsUrl), null, 2);
  return html`<dl>
<dt>Status</dt><dd>${status}</dd>
<dt>Meaning</dt><dd>${meaning}</dd>
<dt>What to do</dt><dd>${remedy}</dd>
<dt>Retry the same call?</dt><dd>${retryable ? 'Yes, after a pause.' : 'No.'}</dd>
</dl>
<pre tabindex="0"><code>${example}</code></pre>
`;
}
