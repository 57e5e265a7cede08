import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { errorsPage } from '../../api/docs/errors-page.js';
import { html, trusted } from '../../api/docs/page-frame.js';
import { assetFile, referenceAssets, referencePage } from '../../api/docs/reference-page.js';
import { openApiDocument } from '../../api/openapi/document.js';
import { errorTable } from '../../shared/contract/errors.js';

const docsUrl = 'https://api.example.com/docs';
const document = openApiDocument({ serverUrl: undefined, docsUrl });
const reference = referencePage(document);
const errors = errorsPage(docsUrl);
const pages = { '/docs': reference, '/docs/errors': errors };
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
