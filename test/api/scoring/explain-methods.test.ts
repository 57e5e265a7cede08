import { expect } from 'chai';
import type { AdmittedModel } from '../../../api/scoring/admission.js';
import { ExplainMethods } from '../../../api/scoring/explain-methods.js';
import type { Manifest } from '../../../shared/bundle/manifest/manifest.js';
import { compileKnownFields } from '../../../shared/messages/field-slots.js';
import type { ExplainMethod } from '../../../shared/messages/score-job.js';

const manifest = { features: [], explain: { kind: 'tree', covers: 'covers.f32' } } as unknown as Manifest;
const model = (version: string): AdmittedModel => ({
  id: 'mdl_1',
  version,
  knownFields: compileKnownFields(manifest),
  otherModelIds: [],
});

/** Methods as workers tell them, who are asked `asked` times; an error stands for no answer. */
function methodsFrom(...answers: (ExplainMethod | Error)[]) {
  const asked: string[] = [];
  const methods = new ExplainMethods({
    explainMethod: async ({ model: { version } }) => {
      const answer = answers[asked.length];
      asked.push(version);
      if (answer === undefined || answer instanceof Error) throw answer ?? new Error('asked too often');
      return answer;
    },
  });
  return { asked, methodOf: (version: string) => methods.of('org_1', model(version), manifest) };
}

describe('the method that GET /v1/models/{model_id} tells', () => {
  it('is what a worker says, whatever the manifest promises, and each version is asked for once', async () => {
    const { asked, methodOf } = methodsFrom('occlusion', 'tree');
    expect(await Promise.all([methodOf('1'), methodOf('1')])).to.deep.equal(['occlusion', 'occlusion']);
    expect(await methodOf('2')).to.equal('tree');
    expect(await methodOf('1')).to.equal('occlusion');
    expect(asked).to.deep.equal(['1', '2']);
  });

  it('is what the manifest promises while no worker answers, and they are not asked again at once', async () => {
    const { asked, methodOf } = methodsFrom(new Error('no worker'));
    expect(await methodOf('1')).to.equal('tree');
    expect(await methodOf('1')).to.equal('tree');
    expect(asked).to.deep.equal(['1']);
  });
});
