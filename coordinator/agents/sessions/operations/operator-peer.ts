import * as z from 'zod'
import { ShoalError } from '../../../../shared/errors.ts'
import { callerOf } from '../../../access/gates/operations/gate-view.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineView, own } from '../../../kernel/declaration/define-view.ts'
import { Id } from '../../../kernel/declaration/fields.ts'
import { OPERATOR_ROLES } from '../../../kernel/declaration/key.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import type { AgentViews } from '../open.ts'
import { operatorPeerTable, type Peer } from '../operator-peer.table.ts'
import type { Handshake } from '../peer.ts'
import type { PeerAsker } from '../peers.ts'
import { label } from './session-view.ts'

const Input = z.strictObject({
  role: z.enum(OPERATOR_ROLES).describe('Operator role to hold; the key must have it.'),
  agent_id: label().describe('Name of the agent that holds the role, a label besides the key.'),
  terminal_label: label().exactOptional().describe('Location label, shown to the other holders.'),
  action: z
    .enum(['claim', 'release', 'handshake', 'status'])
    .default('claim')
    .describe('`claim` also renews; `handshake` names another holder, who names you in return.'),
  session_id: Id.exactOptional().describe(
    'Id of your claim, from `claim`; for release and handshake.',
  ),
  peer_session_id: Id.exactOptional().describe("Id of the other holder's claim; for handshake."),
})
type Input = z.output<typeof Input>

const view = defineView(operatorPeerTable, {
  role: true,
  agent_id: true,
  person_id: true,
  terminal_label: true,
  session_id: own(z.string(), ({ id }: Peer) => id),
  fence: true,
  claimed_at: true,
  expires_at: true,
})

export default defineSkill({
  id: 'operator-peer',
  group: 'agents',
  name: 'Operator peers',
  description:
    'Claim an operator role for a while, inform the other holders, and see who holds which role.',
  tags: ['agents', 'operators'],
  access: 'operator',
  effect: 'write',
  input: Input,
  output: z.object({
    action: z.enum(['claim', 'release', 'handshake', 'status']),
    status: z
      .enum(['held', 'released', 'half', 'mutual', 'free'])
      .describe(
        'State of the role; for handshake, whether one side or both have named each other.',
      ),
    session_id: z
      .string()
      .nullable()
      .describe('Id of the claim; null while the role is unclaimed.'),
    fence: z.int().nullable(),
    expires_at: z.iso.datetime().nullable(),
    holders: z.array(view.schema).describe('Current holders of all roles.'),
  }),
  examples: [{ role: 'builder', agent_id: 'bea', terminal_label: 'desk 4' }],
  run: async (input, context: Context & AgentViews) => {
    requireFields(input)
    const asker = { caller: callerOf(context), role: input.role, agentId: input.agent_id }
    const [peer, status] = await act(input, asker, context)
    const holders = await context.agents.peers.holders(asker.caller.tenantId)
    return {
      action: input.action,
      status,
      session_id: peer?.id ?? null,
      fence: peer?.fence ?? null,
      expires_at:
        peer === undefined ? null : new Date(peer.endedAt ?? peer.expiresAt).toISOString(),
      holders: holders.map(view.of),
    }
  },
})

type Status = 'held' | 'released' | 'free' | Exclude<Handshake, 'none'>

const act = async (
  { action, terminal_label, session_id = '', peer_session_id = '' }: Input,
  asker: PeerAsker,
  { agents: { peers } }: AgentViews,
): Promise<[Peer | undefined, Status]> => {
  if (action === 'claim') return [await peers.claim(asker, terminal_label), 'held']
  if (action === 'release') return [await peers.release(asker, session_id), 'released']
  if (action === 'handshake') {
    const [peer, state] = await peers.handshake(asker, session_id, peer_session_id)
    return [peer, state === 'mutual' ? 'mutual' : 'half']
  }
  const holders = await peers.holders(asker.caller.tenantId)
  const holder = holders.find(({ role }) => role === asker.role)
  return [holder, holder === undefined ? 'free' : 'held']
}

/** Fields, required and accepted, of each action, besides the role and the agent. */
const FIELDS = {
  claim: { needs: [], takes: ['terminal_label'] },
  release: { needs: ['session_id'], takes: [] },
  handshake: { needs: ['session_id', 'peer_session_id'], takes: [] },
  status: { needs: [], takes: [] },
} as const

const requireFields = (input: Input): void => {
  const { needs, takes }: { needs: readonly string[]; takes: readonly string[] } =
    FIELDS[input.action]
  for (const param of ['session_id', 'peer_session_id', 'terminal_label'] as const) {
    const given = input[param] !== undefined
    if (!given && needs.includes(param))
      throw new ShoalError('invalid_request', `${param} is missing: ${input.action} needs it`, {
        param,
      })
    if (given && ![...needs, ...takes].includes(param))
      throw new ShoalError('invalid_request', `${input.action} does not take ${param}`, { param })
  }
}
