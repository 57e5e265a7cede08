import { expect } from 'chai';
import fc from 'fast-check';
import { parseForm } from '../../../api/webhook/form.js';
import { readWebhook } from '../../../api/webhook/request.js';
import { bestMs, durationMs } from '../../support/beats.js';

/** The members of a form, with each name and value percent-encoded. */
const parsed = (...pairs: readonly (readonly [name: string, value: string])[]): unknown =>
  parseForm(pairs.map((pair) => pair.map(encodeURIComponent).join('=')).join('&'));

describe('parseForm', () => {
  it('reads a name with an empty bracket or an index as the name of a list', () => {
    expect(parsed(['Products[]', 'a'], ['Products[]', 'b'])).to.deep.equal({ Products: ['a', 'b'] });
    expect(parsed(['x[0]', 'a'], ['x[1]', 'b'], ['x', 'c'])).to.deep.equal({ x: ['a', 'b', 'c'] });
    expect(parsed(['x[]', 'a'], ['y[0][]', 'b'], ['y[12]', 'c'])).to.deep.equal({ x: 'a', y: ['b', 'c'] });
    expect(parseForm('x%5B%5D=a&x[]=b')).to.deep.equal({ x: ['a', 'b'] });
  });

  it('reads a nested name by its last part', () => {
    const sent = parsed(
      ...([
        ['type', 'update'],
        ['contact[email]', 'a@example.com'],
        ['contact[fields][lead_source]', 'Referral'],
        ['contact[fields][products][]', 'a'],
        ['contact[fields][products][]', 'b'],
        ['record[0][size]', '5'],
      ] as const),
    );
    const expected = {
      type: 'update',
      email: 'a@example.com',
      lead_source: 'Referral',
      products: ['a', 'b'],
      size: '5',
    };
    expect(sent).to.deep.equal(expected);
  });

  it('gives a plain name precedence, whatever the order, case and spaces', () => {
    for (const plain of ['status', 'Status', 'STA_TUS']) {
      const expected = { [plain]: 'plain', 'contact[status]': 'nested' };
      expect(parsed([plain, 'plain'], ['contact[status]', 'nested'])).to.deep.equal(expected);
      expect(parsed(['contact[status]', 'nested'], [plain, 'plain'])).to.deep.equal(expected);
    }
  });

  it('keeps the whole names of nested names that end alike', () => {
    const both = { 'contact[name]': 'Ada', 'company[name]': 'Acme' };
    expect(parsed(['contact[name]', 'Ada'], ['company[name]', 'Acme'])).to.deep.equal(both);
    const several = { 'contact[Job Title]': ['a', 'b'], 'lead[job_title]': 'c' };
    expect(parsed(['contact[Job Title]', 'a'], ['lead[job_title]', 'c'], ['contact[Job Title][]', 'b'])).to.deep.equal(
      several,
    );
  });

  it('takes the id of a contact, but not that of a form or an account, nor one of two', () => {
    const idOf = (...names: readonly string[]) =>
      readWebhook(parsed(['model_id', 'mdl_1'], ...names.map((name) => [name, '42'] as const)), () => undefined, [])
        .crmId;
    for (const name of [
      'contact[id]',
      'Lead[Id]',
      'record[crm_id]',
      'subscriber[id][]',
      'id[]',
      'contact[hs_object_id]',
    ])
      expect(idOf(name), name).to.equal('42');
    for (const name of [
      ...['form[id]', 'account[id]', 'contact[fields][id]', 'fields[email][id]', 'event[objectId]'],
      ...['company[hs_object_id]', 'form[vid]', 'company[crm_id]'],
    ])
      expect(idOf(name), name).to.equal(null);
    expect(idOf('deal[id]', 'contact[id]')).to.equal(null);
    expect(idOf('form[id]', 'crm_id')).to.equal('42');
  });

  it('takes a setting of a lead, but not that of another object', () => {
    const nested = { 'car[model_id]': '320i', 'page[explain]': 'lots', 'form[input_report]': 'x' };
    expect(parsed(...Object.entries(nested))).to.deep.equal(nested);
    expect(parsed(['record[model_id]', 'mdl_1'])).to.deep.equal({ model_id: 'mdl_1' });
  });

  it('reads each text that is not UTF-8 as windows-1252, if that is declared', () => {
    expect(parseForm('a=%E9&b=%C3%A9&c=%E9%41', 'windows-1252')).to.deep.equal({ a: 'é', b: 'é', c: 'éA' });
    expect(() => parseForm('a=%E9&b=1')).to.throw('The form is not percent-encoded UTF-8');
  });

  it('keeps brackets that are part of a label, or are not closed', () => {
    for (const name of ['Budget [EUR]', '[x]', '[]', 'x]', 'x[', '[[[[', 'x[a]b', 'x]]', 'a[b]]', ']', '[', 'x[]y'])
      expect(parsed([name, 'a']), name).to.deep.equal({ [name]: 'a' });
    expect(parsed(['Budget [EUR][]', 'a'])).to.deep.equal({ 'Budget [EUR]': 'a' });
  });

  it('makes own members of the names of the prototype', () => {
    for (const name of ['__proto__', 'constructor', 'toString'])
      for (const sent of [name, `${name}[]`, `a[${name}]`, `${name}[x]`]) {
        const form = parsed([sent, 'polluted']) as object;
        expect(Object.entries(form), sent).to.deep.equal([[sent.endsWith('[x]') ? 'x' : name, 'polluted']]);
        expect(Object.getPrototypeOf(form)).to.equal(Object.prototype);
      }
    expect({}).to.not.have.property('x');
  });

  it('loses no value, whatever the names', () => {
    const name = fc.string({
      unit: fc.constantFrom('a', 'b', '[', ']', '0', ' ', '_', 'id'),
      minLength: 1,
      maxLength: 8,
    });
    fc.assert(
      fc.property(fc.array(name, { minLength: 1, maxLength: 6 }), (names) => {
        const values = Object.values(parsed(...names.map((each, index) => [each, String(index)] as const)) as object);
        expect(values.flat().sort()).to.deep.equal(names.map((_, index) => String(index)));
      }),
      { numRuns: 2000 },
    );
  });

  it('parses megabytes of brackets in less than 2 s', async () => {
    const count = 1_000_000;
    const names = ['['.repeat(count), ']'.repeat(count), '[]'.repeat(count), '[0'.repeat(count), 'a[b'.repeat(count)];
    const texts = [...names.flatMap((name) => [`a${name}=1`, `a${name}]=1`]), `a${'[]'.repeat(10_000)}&`.repeat(100)];
    const many = Array.from({ length: 10_000 }, (_, index) => `a[b][${index}x]=1`).join('&');
    const parseAll = async () => {
      for (const text of texts) parseForm(text);
      expect(Object.keys(parseForm(many) as object)).to.have.length(10_000);
    };
    expect(await bestMs(2_000, () => durationMs(parseAll))).to.be.below(2_000);
  });
});
