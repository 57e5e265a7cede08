import { describeBadInputs } from '../bad-inputs/bad-input.js';
import { badMembers } from '../bad-inputs/members.js';
import { badSyntax } from '../bad-inputs/syntax.js';

describeBadInputs('422 of POST /v1/score: unreadable bodies', badSyntax);
describeBadInputs('422 of POST /v1/score: JSON that breaks the schema', badMembers);
