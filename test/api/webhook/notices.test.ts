import { expect } from 'chai';
import { readWebhook } from '../../../api/webhook/request.js';

describe('notices of a webhook', () => {
  const noticesIn = (body: Record<string, unknown>, names: readonly string[] = []) =>
    readWebhook({ model_id: 'm', ...body }, () => undefined, names).notices.map(({ text }) => text);
  const meant = (name: string, setting: string) => [`"${name}" is unknown and was ignored: did you mean "${setting}"?`];

  it('names a setting that is misspelt in the body, the record or the query', () => {
    expect(noticesIn({ explian: true, size: 1 })).to.deep.equal(meant('explian', 'explain'));
    expect(noticesIn({ record: { 'CRM ID': '1' } })).to.deep.equal(meant('CRM ID', 'crm_id'));
    expect(noticesIn({ inputReports: 'summary', record: {} })).to.deep.equal(meant('inputReports', 'input_report'));
    expect(noticesIn({ record: {} }, ['model_id', 'expalin'])).to.deep.equal(meant('expalin', 'explain'));
  });

  it('names a setting of the query beside a wide record, and a name that came twice once', () => {
    const wide = Object.fromEntries(Array.from({ length: 150 }, (_, index) => [`field ${index}`, index]));
    expect(noticesIn(wide, ['explan', 'explan'])).to.deep.equal(meant('explan', 'explain'));
    expect(noticesIn({ explan: 1, record: { explan: 1 } })).to.deep.equal(meant('explan', 'explain'));
  });

  it('names no setting that the call has', () => {
    expect(noticesIn({ explain: false, explian: true })).to.deep.equal([]);
    for (const id of [{ crm_id: '1' }, { crm_id: 'NULL' }, { Id: '1' }])
      expect(noticesIn({ ...id, crmid: '2' }), JSON.stringify(id)).to.deep.equal([]);
  });

  it('names no setting for fields of leads and members of tools', () => {
    const fields = ['model', 'org_id', 'account_id', 'company', 'reports', 'firm', 'crm', 'Region ID'];
    const members = ['portalId', 'vid', 'form-submissions', 'meta', 'data', 'objectId', 'callbackId', 'origin'];
    for (const name of [...fields, ...members]) expect(noticesIn({ [name]: 'x' }), name).to.deep.equal([]);
  });
});
