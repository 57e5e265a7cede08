import { stripVTControlCharacters } from 'node:util';
import { irVersions, opsetVersions } from '../../../shared/bundle/limits.js';
import { messageOf } from '../../../shared/contract/errors.js';
import { shortenedText } from '../../../shared/contract/texts.js';

/** Such as "version 21 of ai.onnx and 3 of ai.onnx.ml". */
const advisedOpsets = `version ${[...opsetVersions].map(([domain, { advised }]) => `${advised} of ${domain}`).join(' and ')}`;

const maxSentence = 160; // the remedy must stay within the message of a bundle

/** The remedy for an error of ONNX Runtime, by a pattern of its sentence. The first counts. */
const remedies: readonly (readonly [sentence: RegExp, remedy: string])[] = [
  [
    /tensor\((double|float16|bfloat16)\)|float64|NOT_IMPLEMENTED|Could not find an implementation/i,
    'convert the model for float32 tensors',
  ],
  [/IR version/i, `set \`ir_version = ${irVersions.advised}\` on the model, and save it again`],
  [/opset|operator set|No Op registered|not a registered function/i, `convert the model for ${advisedOpsets}`],
  [/values for \d+ rows/, 'let the output have a row for each record'],
  [
    /out of data bounds|indices element/i,
    'give the features `impute` and `other_value`, so that each index is one of the table',
  ],
  [/reshape|expand/i, 'convert the model with an open first dimension (`dynamic_axes`)'],
  [/dimension|shape|rank|broadcast|axis|index|size/i, 'check that the model takes the columns of the features'],
  [/alloc|memory/i, 'train a smaller model'],
  [/protobuf|parse|deserialize/i, 'save the model again with `onnx.save`'],
];

/** Completes "model.onnx: ..." for an error of ONNX Runtime: what it could not do, its own sentence, and a remedy. */
export function engineProblem(doing: string, error: unknown): string {
  const sentence = sentenceOf(error);
  const remedy = remedies.find(([pattern]) => pattern.test(sentence))?.[1] ?? 'run it in onnxruntime before the export';
  return `${doing}: ${sentence}. Remedy: ${remedy}`;
}

/** The sentence that says the reason, without colours, source positions and the names of C++ functions. */
function sentenceOf(error: unknown): string {
  const text = stripVTControlCharacters(messageOf(error)).replace(/[\s\p{Cc}]+/gu, ' ');
  const reason = /(?:Status Message|ERROR_MESSAGE): ?(.*)$/i.exec(text)?.[1] ?? text;
  const plain = reason.replace(/^\S+\.(cc|h|cpp):\d+ (.*?\) (const )?)?/, '').trim();
  return shortenedText((plain === '' ? text : plain).replace(/[.\s]+$/, ''), maxSentence);
}
