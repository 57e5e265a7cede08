import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import { ApiError } from '../../shared/contract/errors.js';
import { type Schema, type ShapeOf, withoutMetaSchema } from '../../shared/contract/schema.js';

const maxProblemsNamed = 5;

/**
 * Compiles a schema into a function that returns a valid body.
 * @throws (the function) ApiError unreadableRequest for an invalid body, with the place of each problem
 */
export function compileCheck<const Body extends Schema>(schema: Body): (value: unknown) => ShapeOf<Body> {
  // `ownProperties`: a member of the prototype does not count as sent.
  const ajv = new Ajv2020({
    ownProperties: true,
    allErrors: false,
    unicodeRegExp: true,
    strict: true,
    strictTypes: false,
    ...withoutMetaSchema,
  });
  ajv.addFormat('well-formed-text', (text) => text.isWellFormed());
  // The schema documents the limits of arrays, but routes check them: exceeding one is 400, and an invalid
  // schema is 422.
  for (const keyword of ['minItems', 'maxItems']) ajv.removeKeyword(keyword).addKeyword(keyword);
  const validate = ajv.compile<ShapeOf<Body>>(schema);
  return (value) => {
    if (validate(value)) return value;
    const problems = (validate.errors ?? []).slice(0, maxProblemsNamed).map(describe);
    throw new ApiError('unreadableRequest', `${problems.join('; ')}.`);
  };
}

function describe({ instancePath, keyword, params, message }: ErrorObject): string {
  const place = placeOf(instancePath);
  if (keyword === 'required')
    return `${place === 'The body' ? '' : `${place}.`}${String(params.missingProperty)} is missing`;
  if (keyword === 'type') return `${place} must be of type ${[params.type].flat().join(' or ')}`;
  if (keyword === 'enum') {
    const allowed = (params.allowedValues as readonly unknown[]).map((value) => JSON.stringify(value));
    return `${place} must be ${allowed.join(' or ')}`;
  }
  if (keyword === 'pattern' || keyword === 'format')
    return `${place} contains a character that is not allowed (NUL or half of a surrogate pair)`;
  if (keyword === 'maxLength') return `${place} must have at most ${String(params.limit)} characters`;
  if (keyword === 'minLength' && params.limit === 1) return `${place} must not be empty`;
  return `${place} ${message ?? 'is not valid'}`;
}

/** Converts `/records/17/crm_id` to `records[17].crm_id`. */
function placeOf(instancePath: string): string {
  if (instancePath === '') return 'The body';
  return instancePath
    .slice(1)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((place, step) => (/^\d+$/.test(step) ? `${place}[${step}]` : `${place}.${step}`));
}
