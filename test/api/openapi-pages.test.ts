import { expect } from 'chai';
import { errorsPage } from '../../api/docs-pages/errors-page.js';
import { html } from '../../api/docs-pages/html.js';
import { colouredJson, prettyJson } from '../../api/docs-pages/json-code.js';
import { headingsOf, markdown } from '../../api/docs-pages/markdown.js';
import { referencePage } from '../../api/docs-pages/reference-page.js';
import { openApiDocument } from '../../api/openapi/document.js';
import { methods } from '../../api/openapi/openapi-types.js';
import { errorTable } from '../../shared/errors.js';

const baseUrl = 'https://api.example.com';
const docsUrl = `${baseUrl}/docs`;
const document = openApiDocument({ serverUrl: baseUrl, docsUrl });
const reference = referencePage(document, baseUrl);
const errors = errorsPage(docsUrl);
const pages = { '/docs': reference.html, '/docs/errors': errors.html };

describe('the pages of the documentation', () => {
  it('have a section for every operation and schema', () => {
    const operations = Object.values(document.paths).flatMap((item) =>
      methods.flatMap((method) => item[method]?.operationId ?? []),
    );
    expect(idsIn(reference.html)).to.include.members([
      ...operations,
      ...Object.keys(document.components.schemas),
    ]);
  });

  it('have a section for every error code, with its status, meaning, remedy and an example', () => {
    expect(idsIn(errors.html)).to.include.members(Object.values(errorTable).map(({ code }) => code));
    const text = textOf(errors.html);
    for (const { code, status, meaning, remedy } of Object.values(errorTable)) {
      expect(text).to.include(meaning).and.include(remedy).and.include(`${docsUrl}/errors#${code}`);
      expect(text).to.match(new RegExp(`Status ?${status}`));
    }
  });

  it('have ids that are there once, and links that all lead to one or to what the service serves', () => {
    for (const [path, page] of Object.entries(pages)) {
      const ids = idsIn(page);
      expect(new Set(ids).size, path).to.equal(ids.length);
      for (const link of matches(page, /href="([^"]*)"/g)) {
        if (link.startsWith('data:')) continue;
        const { pathname, hash } = new URL(link, baseUrl + path);
        if (pathname === '/openapi.json' || pathname === '/openapi-3.0.json') continue;
        const target = pages[pathname as keyof typeof pages];
        expect(target, `${link} on ${path}`).to.be.a('string');
        if (hash !== '') expect(idsIn(target ?? ''), `${link} on ${path}`).to.include(hash.slice(1));
      }
    }
  });

  it('take nothing from elsewhere and run nothing', () => {
    for (const page of [reference, errors]) {
      expect(page.html).to.not.match(
        /<script|<iframe|<object|<img|<link rel="stylesheet|@import|\son\w+=|url\(/i,
      );
      expect(page.html).to.not.match(/(src|href)="(https?:)?\/\//);
      expect(page.contentSecurityPolicy).to.match(/^default-src 'none'; style-src 'sha256-[\w+/]+=*'; /);
    }
  });

  it('are there for narrow screens, dark screens and readers of a screen', () => {
    for (const page of Object.values(pages)) {
      expect(page).to.include('<html lang="en">').and.include('name="viewport"');
      expect(page).to.include('prefers-color-scheme: dark').and.include('@media (min-width');
      expect(matches(page, /<(h1)[ >]/g)).to.have.length(1);
    }
  });

  it('show calls that name the address of the service', () => {
    expect(textOf(reference.html)).to.include(`curl '${baseUrl}/v1/score'`);
    expect(textOf(reference.html)).to.include(`curl '${baseUrl}/v1/webhooks/score?model_id=mdl_`);
    expect(textOf(reference.html)).to.include(`curl -X DELETE '${baseUrl}/v1/scores/LEAD-00042'`);
  });
});

describe('what pages are made of', () => {
  it('html escapes text and keeps HTML', () => {
    const name = `<b a='1'>&"`;
    expect(html`<i>${name}</i>${[html`<br>`, 1, undefined]}`.text).to.equal(
      '<i>&lt;b a=&#39;1&#39;&gt;&amp;&quot;</i><br>1',
    );
  });

  it('markdown knows paragraphs, headings and code, and nothing else', () => {
    const text = 'One\nline `a<b`.\n\n## The rate\n\n*Two* <i>.';
    expect(markdown(text).text.replaceAll('\n', '')).to.equal(
      '<p>One line <code>a&lt;b</code>.</p><h3 id="the-rate">The rate</h3><p>*Two* &lt;i&gt;.</p>',
    );
    expect(headingsOf(text)).to.deep.equal([{ id: 'the-rate', title: 'The rate' }]);
  });

  it('prettyJson says the same as JSON, in lines that are no longer than need be', () => {
    const value = { short: { a: [1, null] }, long: ['x'.repeat(40), 'y'.repeat(40)], empty: {}, none: [] };
    expect(JSON.parse(prettyJson(value))).to.deep.equal(value);
    expect(prettyJson(value)).to.include('\n  "short": { "a": [1, null] },\n').and.include('"empty": {}');
    expect(prettyJson({ a: 1 })).to.equal('{ "a": 1 }');
  });

  it('colouredJson marks names, texts and other values, and changes no text', () => {
    const text = '{ "a": "b: \\"1\\"", "c": [-1.5e3, true] }';
    const marked = colouredJson(text).text;
    expect(textOf(marked)).to.equal(text);
    expect(matches(marked, /<span class="(\w)">/g).join('')).to.equal('kskvv');
  });
});

const matches = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map(([, found = '']) => found);
const idsIn = (page: string): string[] => matches(page, /\sid="([^"]*)"/g);

/** What a reader sees of HTML. */
const textOf = (page: string): string =>
  page
    .replace(/<style>.*?<\/style>/s, '')
    .replace(/<[^>]*>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
