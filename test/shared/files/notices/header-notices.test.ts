import { expect } from 'chai';
import { FieldMatch } from '../../../../shared/files/field-match.js';
import {
  guessedIdName,
  missingFields,
  unknownNames,
  withoutCrmId,
} from '../../../../shared/files/notices/header-notices.js';
import { compileKnownFields } from '../../../../shared/messages/field-slots.js';

const fields = compileKnownFields({
  features: ['Lead Source', 'Industry', 'Annual Revenue'].map((field, index) => ({
    ...{ type: 'number', field, label: field, columns: [index] },
  })),
});

const reportOf = (...names: readonly string[]) => {
  const match = new FieldMatch(fields);
  for (const name of names) match.add(name);
  return match.report();
};

describe('the sentences about the names of a file', () => {
  it('name the fields that it lacks', () => {
    expect(missingFields(reportOf('Lead Source', 'industry', 'Annual_Revenue'))).to.equal(undefined);
    expect(missingFields(reportOf('Industry'))).to.equal(
      'Not in the file: "Lead Source", "Annual Revenue" (of 3 fields that the model knows)',
    );
    expect(missingFields(reportOf(), 'the first 1,000 records')).to.equal(
      'Not in the first 1,000 records: "Lead Source", "Industry", "Annual Revenue" (all 3 fields that the model knows)',
    );
  });

  it('name unknown columns, those with a similar field that is missing first', () => {
    const report = reportOf('Annual Revenue', 'x', 'Lead Sorce', 'Industry *', 'Annual Revenu');
    expect(unknownNames(report, 'column', fields)).to.equal(
      'Unknown to the model: 4 columns, "Lead Sorce" (perhaps "Lead Source"), "Industry *" (perhaps "Industry"), "x", "Annual Revenu"',
    );
    expect(unknownNames(report, 'key')).to.equal(
      'Unknown to the model: 4 keys, "x", "Lead Sorce", "Industry *", "Annual Revenu"',
    );
    expect(unknownNames(reportOf('Industry'), 'column', fields)).to.equal(undefined);
  });

  it('guess the name with the ids', () => {
    const names = ['Company', 'Account ID', 'Email', 'Record ID'];
    expect(guessedIdName(names)).to.equal('Record ID');
    for (const name of [
      'Lead ID',
      'LeadId',
      'lead-id',
      'Id',
      'ID',
      'Record ID',
      'recordId',
      'hs_object_id',
      'Person - ID',
      'GUID',
    ])
      expect(guessedIdName(['Company', name, 'Email'])).to.equal(name);
    expect(guessedIdName(['Company', 'Vendor GUID', 'Idea'])).to.equal('Vendor GUID');
    expect(guessedIdName(['Company', 'Idea', 'Paid', ''])).to.equal(undefined);
    expect(withoutCrmId('column', (name) => `--crm-id ${name}`, ['Id'])).to.match(/such as --crm-id Id$/);
    expect(withoutCrmId('key', (name) => `--crm-id ${name}`)).to.match(
      /^Their scores .*Name the key.*such as --crm-id Lead ID$/,
    );
  });
});
