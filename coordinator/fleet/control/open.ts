import type { OnReload } from '../../../shared/reload-on-hangup.ts'
import type { TopicName } from '../../../shared/wire/topics.ts'
import type { Base } from '../../kernel/base/base.ts'
import { followChanges } from '../../kernel/base/follow-changes.ts'
import type { OpenLeader } from '../../kernel/leader/open.ts'
import type { Replicas } from '../../kernel/replicas/replicas.ts'
import type { SigningKey } from '../../kernel/signing/signing.ts'
import type { Store } from '../../kernel/store/store.ts'
import type { Observation } from '../alerts/alert-rules.ts'
import type { Fleet } from '../cells/fleet.ts'
import type { Cells } from '../enrolment/cells.ts'
import type { Models } from '../models/models.ts'
import { forgetOld } from './command-store.ts'
import type { Commands } from './commands.ts'
import type { CommandsConfig } from './commands-config.ts'
import type { Configs } from './configs.ts'
import { type ControlReceiver, createControl, type StopFinder } from './control.ts'
import type { Egress } from './known-configs.ts'
import { UnconfirmedStops } from './unconfirmed-stops.ts'

/** Operations on the commands and configuration of cells. */
export interface ControlViews {
  commands: Pick<
    Commands,
    'create' | 'createWithin' | 'get' | 'list' | 'needsApproval' | 'plan' | 'urgentAnswerMs'
  >
  configs: Pick<Configs, 'set' | 'show' | 'list'>
}

interface EgressConfig {
  upstreams: { egress: Egress }
}

interface ControlDomainParts
  extends Pick<Base, 'stack' | 'schedules' | 'logger' | 'now' | 'runtime'>,
    Pick<OpenLeader, 'leaderWork'> {
  config: EgressConfig & { commands: CommandsConfig }
  onReload?: OnReload<EgressConfig> | undefined
  replicas: Pick<Replicas, 'id' | 'live' | 'onChange'>
  store: Pick<Store, 'ledger' | 'revisions'>
  signing: SigningKey
  models: Pick<Models, 'settingsFor' | 'version' | 'changes' | 'look'>
  cells: Pick<Cells, 'get'>
  fleet: Pick<Fleet, 'cell' | 'cells'>
  stops: StopFinder
  alertSources: Set<() => Iterable<Observation>>
  bus: {
    publish(
      name: TopicName,
      cellId: string,
      type: string,
      body: unknown,
      id?: string,
    ): Promise<void>
  }
}

const SWEEP_SECONDS = 1
const FORGET_SECONDS = 600
const EGRESS_SECONDS = 2

export const openControl = async (
  parts: ControlDomainParts,
): Promise<{ controlReceiver: ControlReceiver; configs: Configs; views: ControlViews }> => {
  const { store, replicas, signing, models, cells, fleet, stops, bus } = parts
  const { stack, schedules, leaderWork, logger, now } = parts
  const urgentAnswerMs = parts.config.commands.urgent_answer_seconds * 1000
  const { commands, configs, hears } = await createControl({
    store,
    replicas,
    signer: signing,
    models,
    cells,
    fleet,
    stops,
    publish: (name, cellId, body, id) => bus.publish(name, cellId, name, body, id),
    urgentAnswerMs,
    now,
    runtime: parts.runtime,
    logger,
  })
  stack.defer(() => configs.close())
  stack.defer(() => commands.close())
  followOthers(commands, parts)
  followEgress(configs, parts)
  schedules.every('commands.sweep', SWEEP_SECONDS, () => commands.sweep())
  const unconfirmed = new UnconfirmedStops({
    listCells: () => [...fleet.cells()].map(({ id }) => id),
    answerMs: urgentAnswerMs,
    now,
  })
  leaderWork.every('commands.unconfirmed', SWEEP_SECONDS, ledger => unconfirmed.look(ledger))
  parts.alertSources.add(() => unconfirmed.observe())
  leaderWork.every('commands.forget', FORGET_SECONDS, ledger => forgetOld(ledger, now()))
  return { controlReceiver: hears, configs, views: { commands, configs } }
}

/**
 * Makes cells follow the egress of the coordinator that leads, from its start and after each
 * reload; coordinators with different settings would otherwise take turns.
 */
const followEgress = (
  configs: Pick<Configs, 'setEgress'>,
  { config, onReload, leaderWork }: ControlDomainParts,
): void => {
  let { egress } = config.upstreams
  onReload?.(['upstreams.egress'], ({ upstreams }) => {
    egress = upstreams.egress
  })
  leaderWork.every('models.egress', EGRESS_SECONDS, () => configs.setEgress(egress))
}

/** Follows what other coordinators do with commands, and takes over from those that leave. */
const followOthers = (
  commands: Pick<Commands, 'refresh' | 'takeOver'>,
  { store, replicas, stack, logger, runtime }: ControlDomainParts,
): void => {
  const onFailure = (error: Error): void =>
    logger.warn({ err: error }, 'the commands of other coordinators were not read')
  const changes = followChanges({
    subscribe: listener => store.revisions.onChange('commands', listener),
    read: () => commands.refresh(),
    onFailure,
    runtime,
  })
  stack.defer(changes.close)
  const leaves = followChanges({
    subscribe: listener => onLeave(replicas, listener),
    read: () => commands.takeOver(),
    onFailure,
    runtime,
  })
  stack.defer(leaves.close)
}

/** Calls back after a coordinator has left. Returns how to stop that. */
const onLeave = (
  replicas: Pick<Replicas, 'live' | 'onChange'>,
  listener: () => void,
): (() => void) => {
  const listIds = () => replicas.live().map(({ id }) => id)
  let before = listIds()
  return replicas.onChange(() => {
    const now = listIds()
    const hasLeft = before.some(id => !now.includes(id))
    before = now
    if (hasLeft) listener()
  })
}
