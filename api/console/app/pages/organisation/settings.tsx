import { useState } from 'preact/hooks';
import type { organisationSchema } from '../../../../../shared/admin/schemas/organisations.js';
import type { createLinkOutput } from '../../../../../shared/admin/schemas/people.js';
import type { ShapeOf } from '../../../../../shared/contract/schema.js';
import { countText, instantText } from '../../parts/formats.js';
import { Copy } from '../../parts/forms/copy.js';
import { ConfirmDialog, SecretDialog } from '../../parts/forms/dialog.js';
import { Field, SelectField } from '../../parts/forms/field.js';
import { Card, Load, Page, Problem } from '../../parts/page.js';
import { useOrganisation } from '../../server/session.js';
import { useLoad } from '../../server/use-load.js';
import { useSend } from '../../server/use-send.js';
import { DeletionCard } from './deletion.js';
import { MembersCard, roleOptions } from './members.js';
import { SuspensionCard } from './suspension.js';

type Link = ShapeOf<typeof createLinkOutput>;
type Organisation = ShapeOf<typeof organisationSchema>;
const policies = [
  ['warn', 'Warn'],
  ['block', 'Block'],
] as const;
const policyHints: Readonly<Record<string, string>> = {
  warn: 'Models that have not passed score, with their verdict attached.',
  block: 'Calls of models that have not passed get 409.',
};
const roleHints: Readonly<Record<string, string>> = {
  viewer: 'Sees usage, models and the audit log.',
  admin: 'Also keys, models, leads and the playground.',
  owner: 'Also settings, people and erasure.',
};

/** Name, deploy policy and plan of an organisation, and links for its people. */
export function SettingsPage() {
  const { api, may } = useOrganisation();
  const organisation = useLoad<Organisation>(api);
  const [link, setLink] = useState<Link>();
  return (
    <Page title="Settings">
      <Load of={organisation}>
        {(data) => (
          <>
            {/* Nothing else of an organisation that is to be deleted can be read or changed. */}
            {data.deletion === undefined && <SettingsCards of={data} changed={organisation.reload} setLink={setLink} />}
            {may('operator') && <DeletionCard of={data} changed={organisation.reload} />}
          </>
        )}
      </Load>
      {link && (
        <SecretDialog
          title={`Link for ${link.person}`}
          secret={link.url}
          copy="Copy link"
          done="I sent it"
          close={() => setLink(undefined)}
        >
          Send this link to {link.person}, who gets the role {link.role}. It works once, until{' '}
          {instantText(link.expires_at)}. The console shows it once.
        </SecretDialog>
      )}
    </Page>
  );
}

interface PartProps {
  readonly of: Organisation;
  readonly changed: () => void;
}

function SettingsCards({ of: data, changed, setLink }: PartProps & { readonly setLink: (link: Link) => void }) {
  const { may } = useOrganisation();
  return (
    <>
      <PlanCard of={data} changed={changed} />
      {may('operator') && <SuspensionCard of={data} changed={changed} />}
      {may('owner') && <NameCard of={data} changed={changed} />}
      {may('owner') && <LinkCard organisationId={data.org_id} created={setLink} />}
      {may('owner') && <MembersCard />}
    </>
  );
}

function PlanCard({ of: organisation, changed }: PartProps) {
  const { api, may } = useOrganisation();
  const sender = useSend();
  const [plan, setPlan] = useState<string>(organisation.plan);
  const [limit, setLimit] = useState(String(organisation.own_limit ?? ''));
  const save = async (event: Event) => {
    event.preventDefault();
    const body = { plan, limit: limit === '' ? null : Number(limit) };
    if (await sender.send('PATCH', api, body)) changed();
  };
  const about = `${countText(organisation.limit)} records of live keys a month`;
  return (
    <Card id="plan" title={`Plan ${organisation.plan}`} about={about}>
      <p>
        {organisation.backstop !== null && `Calls are refused at ${countText(organisation.backstop)} records. `}
        {organisation.trial_ends_at && `The trial ends ${instantText(organisation.trial_ends_at)}.`}
      </p>
      {!may('operator') && (
        <>
          <p>The operator of the service sets plan and limit. Copy a request, and send it.</p>
          <Copy text={requestOf(organisation)} label="Copy a request" />
        </>
      )}
      {may('operator') && (
        <form class="form" onSubmit={save}>
          <SelectField
            label="Plan"
            value={plan}
            set={setPlan}
            options={['free', 'trial', 'pro', 'enterprise'].map((each) => [each, each])}
          />
          <Field
            label="Own limit"
            type="number"
            min={1}
            value={limit}
            set={setLimit}
            hint="Empty: the limit of the plan."
          />
          <button type="submit" class="button" disabled={sender.isBusy}>
            Save plan
          </button>
          {sender.problem && <Problem problem={sender.problem} />}
        </form>
      )}
    </Card>
  );
}

const requestOf = ({ name, org_id: id, plan, limit }: Organisation): string =>
  `Please change the plan or the limit of ${name} (${id}). It has the plan ${plan} with ${countText(limit)} records a month.`;

function NameCard({ of: organisation, changed }: PartProps) {
  const { api } = useOrganisation();
  const sender = useSend();
  const [name, setName] = useState(organisation.name);
  const [policy, setPolicy] = useState<string>(organisation.policy);
  const [isSaved, setSaved] = useState(false);
  const [isAsking, setAsking] = useState(false);
  const save = async () => {
    setSaved(false);
    if ((await sender.send('PATCH', api, { name, policy })) === undefined) return;
    setAsking(false);
    setSaved(true);
    changed();
  };
  const submit = (event: Event) => {
    event.preventDefault();
    if (policy === 'block' && organisation.policy !== 'block') setAsking(true);
    else void save();
  };
  return (
    <Card title="Organisation" about="The policy decides about models that have not passed their validation.">
      <form class="form" onSubmit={submit}>
        <Field label="Name" value={name} set={setName} isRequired />
        <div id="policy">
          <SelectField
            label="Deploy policy"
            value={policy}
            set={setPolicy}
            options={policies}
            hint={policyHints[policy]}
          />
        </div>
        <div class="row">
          <button type="submit" class="button main" disabled={sender.isBusy}>
            Save
          </button>
          <span role="status" class="small soft">
            {isSaved && 'Saved'}
          </span>
        </div>
      </form>
      {sender.problem && !isAsking && <Problem problem={sender.problem} />}
      {isAsking && (
        <ConfirmDialog
          title="Block models that have not passed?"
          action="Block them"
          name={organisation.name}
          sender={sender}
          close={() => setAsking(false)}
          run={save}
        >
          <p>
            Calls of models that have not passed get 409 at once. Their pages show which have, and take an override.
          </p>
        </ConfirmDialog>
      )}
    </Card>
  );
}

function LinkCard(props: { readonly organisationId: string; readonly created: (link: Link) => void }) {
  const sender = useSend();
  const [name, setName] = useState('');
  const [role, setRole] = useState('viewer');
  const create = async (event: Event) => {
    event.preventDefault();
    const link = await sender.send<Link>('POST', '/links', { org_id: props.organisationId, name, role });
    if (link) props.created(link);
  };
  return (
    <Card title="Sign-in links" about="A link signs one person in, once. It expires after 15 minutes.">
      <form class="form" onSubmit={create}>
        <Field label="Name of the person" value={name} set={setName} isRequired />
        <SelectField label="Role" value={role} set={setRole} options={roleOptions} hint={roleHints[role]} />
        <div class="row">
          <button type="submit" class="button" disabled={sender.isBusy}>
            Create link
          </button>
        </div>
      </form>
      {sender.problem && <Problem problem={sender.problem} />}
    </Card>
  );
}
