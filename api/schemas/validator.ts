import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import { ApiError } from '../../shared/errors.js';

const mostProblemsNamed = 5;

/**
 * Compiles a schema into a check that either gives the body as `Body` or throws.
 * @throws (the check) ApiError unreadableRequest, naming where the body differs from the schema
 */
export function compileCheck<Body>(schema: object): (value: unknown) => Body {
  // `ownProperties`: a member that is only on the prototype does not count as sent.
  const ajv = new Ajv2020({
    ownProperties: true,
    allErrors: false,
    unicodeRegExp: true,
    strict: true,
    strictTypes: false,
  });
  ajv.addFormat('well-formed-text', (text) => text.isWellFormed());
  // How many items an array may have is in the schema for its readers. Such a call could be read, and is refused with
  // another status than one that could not: the routes check it themselves.
  for (const keyword of ['minItems', 'maxItems']) ajv.removeKeyword(keyword).addKeyword(keyword);
  const validate = ajv.compile<Body>(schema);
  return (value) => {
    if (validate(value)) return value;
    const problems = (validate.errors ?? []).slice(0, mostProblemsNamed).map(describe);
    throw new ApiError('unreadableRequest', `${problems.join('; ')}.`);
  };
}

function describe({ instancePath, keyword, params, message }: ErrorObject): string {
  const place = placeOf(instancePath);
  if (keyword === 'required')
    return `${place === 'The body' ? '' : `${place}.`}${String(params.missingProperty)} is missing`;
  if (keyword === 'type') return `${place} must be of type ${String(params.type)}`;
  if (keyword === 'pattern' || keyword === 'format')
    return `${place} contains a character that is not allowed (NUL or half of a surrogate pair)`;
  if (keyword === 'maxLength') return `${place} must have at most ${String(params.limit)} characters`;
  if (keyword === 'minLength' && params.limit === 1) return `${place} must not be empty`;
  return `${place} ${message ?? 'is not valid'}`;
}

/** From `/records/17/crm_id` to `records[17].crm_id`. */
function placeOf(instancePath: string): string {
  if (instancePath === '') return 'The body';
  return instancePath
    .slice(1)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((place, step) => (/^\d+$/.test(step) ? `${place}[${step}]` : `${place}.${step}`));
}
