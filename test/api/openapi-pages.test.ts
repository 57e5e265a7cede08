import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { errorsPage } from '../../api/docs/errors-page.js';
import { homePage, quickstartPage } from '../../api/docs/guide-pages.js';
import { renderMarkdown } from '../../api/docs/markdown.js';
import { html, trusted } from '../../api/docs/page-frame.js';
import { assetFile, referenceAssets, referencePage } from '../../api/docs/reference-page.js';
import { openApiDocument } from '../../api/openapi/document.js';
import { errorTable } from '../../shared/contract/errors.js';
import { projectFile } from '../../shared/process/project-root.js';

const docsUrl = 'https://api.example.com/docs';
const document = openApiDocument({ keyBrand: 'acme', serverUrl: undefined, docsUrl });
const reference = referencePage(document);
const errors = errorsPage(docsUrl);
const quickstart = quickstartPage('acme');
const pages = { '/': homePage(), '/docs': reference, '/docs/errors': errors, '/docs/quickstart': quickstart };
/** The tags of each operation, by its id. */
const operations = new Map(
  Object.values(document.paths).flatMap((item) =>
    Object.values(item).map(({ operationId, tags }) => [operationId, tags] as const),
  ),
);
const otherPaths = ['/openapi.json', '/openapi-3.0.json', ...referenceAssets.map(({ name }) => `/docs/${name}`)];

describe('documentation pages', () => {
  it('the errors page has a section per code with its status, meaning, remedy and example', () => {
    expect(idsIn(errors.html)).to.include.members(Object.values(errorTable).map(({ code }) => code));
    const text = textOf(errors.html);
    for (const { code, status, meaning, remedy } of Object.values(errorTable)) {
      expect(text).to.include(meaning).and.include(remedy).and.include(`${docsUrl}/errors#${code}`);
      expect(text).to.match(new RegExp(`Status ?${status}`));
    }
  });

  it('the quickstart page has all text and code of the document', () => {
    const markdown = readFileSync(projectFile('docs/quickstart.md'), 'utf8');
    const shown = textOf(quickstart.html);
    const plain = (text: string) => text.replace(/\s+/g, ' ').trim();
    const blocks = [...markdown.matchAll(/^```\w*\n(.*?)^```$/gms)].map(([, code = '']) => code);
    expect(blocks.length, 'blocks of code').to.be.above(10);
    for (const code of blocks) expect(plain(shown)).to.include(plain(code));
    const prose = markdown.replace(/^```.*?^```$/gms, '').replace(/\]\([^)]*\)/g, '');
    for (const word of new Set(prose.match(/[\p{L}\p{N}_]+/gu))) expect(shown, word).to.include(word);
    const rendered = textOf(quickstart.html.replace(/<pre.*?<\/pre>/gs, ''));
    expect(rendered).to.not.match(/^```|^\||\*\*|\]\(|^#/m);
  });

  it('render Markdown as HTML, with links to served pages alone', () => {
    const markdown = [
      ...['# A `b` <c>', '', 'Text **of _x_** [here](#a) and', '[there](x.md).', '- one', '  more', '- two', ''],
      ...['1. first', '2. second', '', '| a | b |', '|---|---|', '| `1` | 2 |', '', '```sh', 'a < b', '```'],
    ].join('\n');
    const rendered = renderMarkdown(markdown, (target) => (target.startsWith('#') ? target : undefined));
    expect(rendered.map(({ text }) => text)).to.deep.equal([
      '<h1 id="a-b-c">A <code>b</code> &lt;c&gt;</h1>\n',
      '<p>Text <strong>of _x_</strong> <a href="#a">here</a> and\nthere.</p>\n',
      '<ul>\n<li>one\n  more</li>\n<li>two</li>\n</ul>\n',
      '<ol>\n<li>first</li>\n<li>second</li>\n</ol>\n',
      '<div class="table"><table>\n<thead><tr><th scope="col">a</th><th scope="col">b</th></tr></thead>\n<tbody>\n' +
        '<tr><td><code>1</code></td><td>2</td></tr>\n</tbody>\n</table></div>\n',
      '<pre tabindex="0"><code>a &lt; b</code></pre>\n',
    ]);
  });

  for (const [path, page] of Object.entries(pages)) {
    it(`${path} has unique ids, and its links lead to served paths and existing anchors`, () => {
      const ids = idsIn(page.html);
      expect(new Set(ids).size).to.equal(ids.length);
      for (const link of matches(page.html, /\s(?:src|href)="([^"]*)"/g)) {
        if (link.startsWith('data:')) continue;
        const { origin, pathname, hash } = new URL(link, `https://api.example.com${path}`);
        expect(origin, link).to.equal('https://api.example.com');
        if (otherPaths.includes(pathname)) continue;
        const target = pages[pathname as keyof typeof pages];
        expect(target, link).to.be.an('object');
        // Swagger UI draws the operations, and gives each an anchor of its tag and its id.
        const [, tag = '', operationId] = hash.startsWith('#/') ? hash.slice(1).split('/') : [];
        if (operationId !== undefined) expect(operations.get(operationId), link).to.include(decodeURIComponent(tag));
        else if (hash !== '') expect(idsIn(target.html), link).to.include(hash.slice(1));
      }
    });

    it(`${path} keeps working under a path prefix: every link is relative`, () => {
      expect(page.html).to.not.match(/\s(?:src|href)="(?:\/|https?:)/);
    });

    it(`${path} allows exactly its own inline style and scripts`, () => {
      const policy = directivesOf(page.contentSecurityPolicy);
      const [style = ''] = matches(page.html, /<style>(.*?)<\/style>/gs);
      expect(policy.get('default-src')).to.deep.equal(["'none'"]);
      expect(policy.get('style-src')).to.include(hashOf(style));
      const scripts = matches(page.html, /<script>(.*?)<\/script>/gs);
      const expected = scripts.length === 0 ? undefined : ["'self'", ...scripts.map(hashOf)];
      expect(policy.get('script-src')).to.deep.equal(expected);
      expect(page.contentSecurityPolicy).to.not.match(/unsafe|https?:|\*/);
      expect(page.html).to.not.match(/\son\w+=|\sstyle=|<iframe|<object|@import/i);
    });

    it(`${path} supports narrow screens, dark screens and screen readers`, () => {
      expect(page.html).to.include('<html lang="en">').and.include('name="viewport"');
      expect(page.html).to.include('prefers-color-scheme: dark');
      expect(matches(page.html, /<(main)[ >]/g)).to.have.length(1);
    });
  }

  it('the reference page finds its assets in the installed package', () => {
    const [script = '', style = ''] = referenceAssets.map((asset) => readFileSync(assetFile(asset), 'utf8'));
    expect(script).to.include('SwaggerUIBundle');
    expect(style)
      .to.include('.swagger-ui')
      .and.not.match(/@import|@font-face|url\(["']?(?:https?:)?\/\//);
  });
});

describe('html template', () => {
  it('escapes text, and keeps HTML and trusted text', () => {
    const name = `<b a='1'>&"`;
    expect(html`<i>${name}</i>${[html`<br>`, 1, undefined, trusted('<hr>')]}`.text).to.equal(
      '<i>&lt;b a=&#39;1&#39;&gt;&amp;&quot;</i><br>1<hr>',
    );
  });
});

const matches = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, found = '']) => found);
const idsIn = (page: string): string[] => matches(page, /\sid="([^"]*)"/g);
const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

const directivesOf = (policy: string): Map<string, string[]> =>
  new Map(
    policy.split('; ').map((directive) => {
      const [name = '', ...sources] = directive.split(' ');
      return [name, sources];
    }),
  );

/** The visible text of a page. */
const textOf = (page: string): string =>
  page
    .replace(/<style>.*?<\/style>/s, '')
    .replace(/<[^>]*>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
