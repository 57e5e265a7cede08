import type { overviewOutput } from '../../../../../shared/admin/schemas/usage.js';
import type { Role } from '../../../../../shared/contract/roles.js';
import type { ShapeOf } from '../../../../../shared/contract/schema.js';
import { Icon } from '../../parts/icon.js';
import { Card } from '../../parts/page.js';
import { useOrganisation } from '../../server/session.js';

type FirstRun = ShapeOf<typeof overviewOutput>['first_run'];

interface Step {
  readonly name: keyof FirstRun;
  readonly title: string;
  readonly about: string;
  readonly link: string;
  /** The page of the step, and the role that may do it. */
  readonly page: string;
  readonly role: Role;
}

const steps: readonly Step[] = [
  {
    name: 'model',
    title: 'Import a model',
    link: 'Models',
    page: '/models',
    role: 'admin',
    about: 'Drop the folder of a bundle on the page of models.',
  },
  {
    name: 'key',
    title: 'Create an API key',
    link: 'API keys',
    page: '/keys',
    role: 'admin',
    about: 'A test key scores for free, a live key counts.',
  },
  {
    name: 'call',
    title: 'Send the first call',
    link: 'CRM set-up',
    page: '/crm',
    role: 'viewer',
    about: 'From a CRM, or as a file. The page shows each call that arrives.',
  },
  {
    name: 'outcomes',
    title: 'Report outcomes',
    link: 'Outcomes',
    page: '/outcomes',
    role: 'admin',
    about: 'Which leads converted, and which did not. They show whether the scores are right.',
  },
];

/** Whether a step of a new organisation is still open. */
export const hasOpenStep = (done: FirstRun): boolean => steps.some(({ name }) => !done[name]);

/** The first steps of an organisation. A step is ticked once it is done. */
export function FirstSteps({ done }: { readonly done: FirstRun }) {
  const { base, may } = useOrganisation();
  const count = steps.filter(({ name }) => done[name]).length;
  return (
    <Card title="First steps" about={`${count} of ${steps.length} are done. This list goes when all are.`}>
      <ol class="rows">
        {steps.map(({ name, title, about, link, page, role }) => (
          <li key={name}>
            <div>
              <strong>{title}</strong>{' '}
              {done[name] && (
                <span class="badge good tick">
                  <Icon of="tick" /> done
                </span>
              )}
              <p class="small soft">{about}</p>
            </div>
            {!done[name] && may(role) && (
              <a class="button" href={`${base}${page}`} aria-label={`${title}: ${link}`}>
                {link}
              </a>
            )}
          </li>
        ))}
      </ol>
    </Card>
  );
}
