import { expect } from 'chai';
import fc from 'fast-check';
import { engineProblem } from '../../../worker/bundle-checks/trial/engine-problem.js';

const problem = (message: string): string => engineProblem('ONNX Runtime does not run it', new Error(message));

describe('an error of ONNX Runtime', () => {
  it('becomes its sentence and a remedy, without colours, source positions and functions', () => {
    const message =
      "\u001b[1;31mNon-zero status code returned while running MatMul node. Name:'m' Status Message: " +
      '/onnxruntime_src/onnxruntime/core/providers/cpu/math/matmul_helper.h:62 onnxruntime::common::Status ' +
      'onnxruntime::MatMulComputeHelper::Compute(const onnxruntime::TensorShape&, bool) left operand cannot broadcast ' +
      'on dim 1\u001b[m\n';
    expect(problem(message)).to.equal(
      'ONNX Runtime does not run it: left operand cannot broadcast on dim 1. Remedy: check that the model takes the columns of the features',
    );
  });

  for (const [sentence, remedy] of [
    ["Could not find an implementation for Mul(14) node with name ''", 'convert the model for float32 tensors'],
    ["Type 'tensor(double)' of input parameter (x) of operator (Relu) is invalid", 'for float32 tensors'],
    ['Unsupported model IR version: 14, max supported IR version: 13', 'set `ir_version = 10`'],
    ['ONNX Runtime only guarantees support for opset version 26', 'version 21 of ai.onnx and 3 of ai.onnx.ml'],
    ['the output "y" has 1 values for 32 rows', 'let the output have a row for each record'],
    ['std::bad_alloc', 'train a smaller model'],
    ['something else', 'run it in onnxruntime before the export'],
  ] as const)
    it(`has a remedy: ${sentence}`, () => {
      expect(problem(sentence)).to.include(`: ${sentence}. Remedy: `).and.to.include(remedy);
    });

  it('becomes a line of less than 290 characters without control characters, whatever it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 2_000 }), (text) => {
        const line = problem(`${text}\u001b[31m${text}`);
        expect(line).to.have.length.below(290);
        expect(line).to.not.match(/\p{Cc}/u);
      }),
    );
  });
});
