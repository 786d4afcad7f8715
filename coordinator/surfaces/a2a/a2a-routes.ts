import { AgentCard } from '@a2a-js/sdk'
import type { A2ARequestHandler } from '@a2a-js/sdk/server'
import type { FastifyPluginAsync } from 'fastify'
import type { Logger } from 'pino'
import { type ErrorCode, ShoalError } from '../../../shared/errors.ts'
import type { Keys } from '../../access/keys/keys.ts'
import type { Admission } from '../../access/quota/quota.ts'
import { mayCall } from '../../calls/invoke/access.ts'
import { type Count, runWithRefund } from '../../calls/invoke/count.ts'
import type { OperationTasks } from '../../calls/tasks/operation-tasks.ts'
import type { ReaderOf } from '../../calls/tasks/task-readers.ts'
import type { Tasks } from '../../calls/tasks/tasks.ts'
import type { Key } from '../../kernel/declaration/key.ts'
import type { SurfaceSettings } from '../http/public-config.ts'
import { createStreamPlaces } from '../http/stream-places.ts'
import { pureCard } from './agent-card.ts'
import { cardParts, portOf } from './agent-routes.ts'
import { type BindingParts, toKnownError } from './binding.ts'
import type { A2aCall } from './call.ts'
import type { CardFacts } from './card-features.ts'
import type { Executor } from './executor.ts'
import { createHideMessage } from './hidden-message.ts'
import { jsonRpcRoutes } from './json-rpc-routes.ts'
import type { PushConfigs } from './push/push-configs.ts'
import { requestHandler } from './request-handler.ts'
import { restRoutes } from './rest-routes.ts'
import { skillExecutor } from './skill-executor.ts'

/** Parts that the bindings share. */
export interface A2aParts {
  tasks: Tasks
  operationTasks: OperationTasks
  readerOf: ReaderOf
  push: PushConfigs
  /** Stand-in for the skills; for the public conformance kits. */
  fixture?: {
    executor: Executor
    key: Key
    wrapHandler?: (handler: A2ARequestHandler, call: A2aCall) => A2ARequestHandler
  }
}

interface A2aRouteParts extends A2aParts {
  config: SurfaceSettings
  registered: CardFacts
  count: Count
  onError: (code: ErrorCode) => void
  hold?: Keys['hold'] | undefined
  logger: Pick<Logger, 'error'>
}

/** Routes of both A2A bindings. */
export const a2aRoutes: FastifyPluginAsync<A2aRouteParts> = async (app, parts) => {
  const { config, registered, tasks, operationTasks, readerOf, push, count, fixture } = parts
  const { skills } = registered
  const executor = fixture?.executor ?? skillExecutor({ skills, tasks: operationTasks })
  const hideMessage = createHideMessage(skills)
  const cardOf = (listed: CardFacts['skills']): AgentCard =>
    AgentCard.fromJSON(pureCard(cardParts(config, registered, portOf(app, config)), listed))
  const handler = (call: A2aCall): A2ARequestHandler => {
    const made = requestHandler(
      {
        tasks,
        readerOf,
        push,
        executor,
        hideMessage,
        cancel: operationTasks.cancel,
        card: () => cardOf(skills),
        extendedCard: ({ key }) => cardOf(skills.filter(skill => mayCall(skill, key))),
      },
      call,
    )
    return fixture?.wrapHandler?.(made, call) ?? made
  }
  const binding: BindingParts = {
    handler,
    admit: call => (fixture === undefined ? count(call) : UNCOUNTED),
    runWithRefund,
    onError: ({ http }, thrown, request) => {
      parts.onError(
        thrown instanceof ShoalError ? thrown.code : http < 500 ? 'invalid_request' : 'internal',
      )
      if (http === 500) parts.logger.error({ err: thrown, request: request.id }, 'request failed')
    },
    toKnownError,
    hold: parts.hold,
    places: createStreamPlaces(MAX_STREAMS),
    ...(fixture === undefined ? {} : { fallbackKey: fixture.key }),
  }
  await app.register(jsonRpcRoutes, binding)
  await app.register(restRoutes, binding)
}

/** Streams at once; one key, or one address without a key, does not take all of them. */
const MAX_STREAMS = { all: 1024, perKey: 64 }

const UNCOUNTED: Admission = { refund: () => {} }
