import { expect } from 'chai';
import { editCost, SimilarFields, SuggestionWork } from '../../../shared/messages/similar-fields.js';

const named = (...names: string[]) => names.map((field) => ({ field, names: [field] }));
const fields = [
  ...named('Lead Source', 'Industry', 'Number of Employees', 'Email Opens', 'Email Opt Out', 'Website Visits (30d)'),
  ...named('Min Employees', 'Stage', 'Ort'),
  { field: 'Created Date', names: ['Created Date', 'Create Date', 'Created At'] },
];
let models = 0;
const newModel = (of = fields) => {
  models += 1;
  return new SimilarFields(`mdl_${models}:1`, of);
};
const meantBy = (name: string, of = fields): string | undefined => newModel(of).of(name, new SuggestionWork())[0];

describe('SimilarFields', () => {
  for (const [name, field] of [
    ['Lead Sorce', 'Lead Source'],
    ['Lead Suorce', 'Lead Source'],
    ['LeadSorce', 'Lead Source'],
    ['Source Lead', 'Lead Source'],
    ['SourceLead', 'Lead Source'],
    ['Lead_Source__c', 'Lead Source'],
    ['lead.source', 'Lead Source'],
    ['Lead Source:', 'Lead Source'],
    ['Industri', 'Industry'],
    ['Indusrty', 'Industry'],
    ['Numbr of Employes', 'Number of Employees'],
    ['employees, number of', 'Number of Employees'],
    ['Website Visits 30d', 'Website Visits (30d)'],
    ['Website Vists (30d)', 'Website Visits (30d)'],
    ['CreatedAtt', 'Created Date'],
  ])
    it(`takes ${name} for ${field}`, () => {
      expect(meantBy(String(name))).to.equal(field);
    });

  for (const name of [
    ...['Email', 'Source', 'Company', 'Phone', 'Lead', 'State', 'Ortt', 'Number of', 'Website', '', '()', '__proto__'],
    ...['Website Visits (7d)', 'Website Visits', 'Max Employees', 'Email Opens Total', `Lead Source${'x'.repeat(70)}`],
  ])
    it(`takes ${name.slice(0, 30) || 'an empty name'} for no field`, () => {
      expect(meantBy(name)).to.equal(undefined);
    });

  it('returns the closest fields first', () => {
    const close = named('Number of Employeesxy', 'Number of Employeesx', 'Number of Employeesy', 'Number of Employees');
    expect(newModel(close).of('Number of Employee', new SuggestionWork())).to.deep.equal([
      'Number of Employees',
      'Number of Employeesx',
      'Number of Employeesy',
    ]);
  });

  it('finds nothing once the work of a call is done, and does not remember that', () => {
    const model = newModel();
    const work = new SuggestionWork();
    while (work.take(1_000));
    expect(model.of('Lead Sorce', work)).to.deep.equal([]);
    expect(model.of('Lead Sorce', new SuggestionWork())).to.deep.equal(['Lead Source']);
  });

  it('takes a few milliseconds for two hundred names that resemble thousands of fields', () => {
    const text = (index: number) => `field ${[...String(index)].map((digit) => 'abcdefghij'[Number(digit)]).join('')}`;
    const many = newModel(named(...Array.from({ length: 4_000 }, (_, index) => text(index + 10_000).padEnd(60, 'x'))));
    const work = new SuggestionWork();
    const start = process.cpuUsage();
    for (let index = 0; index < 200; index += 1) many.of(text(index + 50_000).padEnd(60, 'x'), work);
    const { user, system } = process.cpuUsage(start);
    expect((user + system) / 1_000, 'ms of CPU time').to.be.below(100);
  });
});

describe('editCost', () => {
  for (const [one, other, cost] of [
    ['sorce', 'source', 2],
    ['suorce', 'source', 2],
    ['sauce', 'source', 5],
    ['source', 'source', 0],
    ['', 'ab', 4],
    ['max', 'min', 6],
  ] as const)
    it(`is ${cost} between "${one}" and "${other}"`, () => {
      expect(editCost(one, other)).to.equal(cost);
      expect(editCost(other, one)).to.equal(cost);
    });

  it('is high for texts whose lengths differ by more than two', () => {
    expect(editCost('source', 'sourceabc')).to.be.above(100);
  });
});
