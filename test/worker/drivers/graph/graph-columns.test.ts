import { expect } from 'chai';
import { logistic } from '../../../../worker/drivers/contributions.js';
import { compiled, numbersManifest } from '../compiled.js';
import type { ModelForm } from '../explained-model.js';
import { linearForms } from './linear-forms.js';
import { treeFormCovers, treeForms } from './tree-forms.js';

/* ONNX Runtime runs each form. If contributions add up to its output, the form was read correctly. */

const rows = [
  [5, 0],
  [20, 1],
  [10, -3],
  [Number.NaN, 0.5],
];
const wholeRows = rows.slice(0, 3);

async function expectRead(
  { model, kind = 'probability', positiveClass }: ModelForm,
  of: { readonly method: string; readonly rows: readonly number[][] },
): Promise<void> {
  const linearMeans = { kind: 'linear', means: [3, -0.5] } as const;
  const manifest = numbersManifest(2, {
    kind,
    positiveClass: positiveClass ?? 1,
    explain: of.method === 'tree' ? { kind: 'tree', covers: 'covers.f32' } : linearMeans,
  });
  const { explanation, session, explain } = await compiled(model, manifest, {
    covers: of.method === 'tree' ? treeFormCovers : undefined,
  });
  expect(explanation.fallbackReason).to.equal(undefined);
  expect(explanation.explainer.method).to.equal(of.method);
  const raw = await session.run(Float32Array.from(of.rows.flat()), of.rows.length);
  for (const [row, contributions] of (await explain(of.rows)).entries()) {
    const margin = contributions.reduce((sum, part) => sum + part, explanation.base ?? Number.NaN);
    expect(logistic(margin), `row ${row}`).to.be.closeTo(raw[row] ?? Number.NaN, 1e-6);
  }
  await session.release();
}

describe('graphColumns', () => {
  for (const [name, form] of Object.entries(treeForms))
    it(`reads trees: ${name}`, () => expectRead(form, { method: 'tree', rows }));
  for (const [name, form] of Object.entries(linearForms))
    it(`reads a linear model: ${name}`, () => expectRead(form, { method: 'linear', rows: wholeRows }));

  it('assigns contributions to the columns that the trees read', async () => {
    const explained = async (name: string, row: readonly number[]) => {
      const form = treeForms[name];
      if (form === undefined) throw new Error(`unknown form "${name}"`);
      const explain = { kind: 'tree', covers: 'covers.f32' } as const;
      const manifest = numbersManifest(2, { kind: form.kind ?? 'probability', explain });
      const { explain: explainRows } = await compiled(form.model, manifest, { covers: treeFormCovers });
      return (await explainRows([row]))[0] ?? [];
    };
    const direct = await explained('a regressor of logits', [20, 1]);
    expect(direct.every((contribution) => Math.abs(contribution) > 0.1)).to.equal(true);
    expect(direct[0]).to.not.be.closeTo(direct[1] ?? 0, 0.1);
    const picked = await explained('columns selected before the trees', [1, 20]);
    expect(picked.reverse()).to.deep.equal(direct);
  });
});
