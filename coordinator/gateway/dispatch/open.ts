import { callAfterBy } from '../../../shared/runtime.ts'
import { placesLeft } from '../../fleet/cells/cell.ts'
import type { FleetListeners } from '../../fleet/cells/open.ts'
import type { Standstill } from '../../fleet/cells/standstill.ts'
import type { Fault } from '../../fleet/routing/health/fault.ts'
import type { Router } from '../../fleet/routing/router.ts'
import { createTrails } from '../../fleet/routing/trails.ts'
import type { Base } from '../../kernel/base/base.ts'
import { createLanes, type RequestLanes } from './lane.ts'
import type { RoutingConfig } from './routing-config.ts'
import { WaitQueue } from './wait-queue.ts'

/** Views of requests that wait for a cell. */
export interface DispatchViews {
  waiting: Pick<WaitQueue, 'lengths'>
}

interface DispatchParts extends Pick<Base, 'stack' | 'logger' | 'nowMs' | 'runtime'> {
  config: { routing: RoutingConfig }
  metrics: { inference: { countFault(fault: Fault): void } }
  router: Router
  standstill: Standstill
  fleetListeners: Pick<FleetListeners, 'routingChanges'>
}

/** Opens the lanes in which requests are sent to cells, and the queue in which they wait for one. */
export const openDispatch = (
  parts: DispatchParts,
): { lanes: RequestLanes; waiting: WaitQueue; views: DispatchViews } => {
  const { metrics, router, standstill, fleetListeners, stack, logger, nowMs } = parts
  const waiting = openWaitQueue(parts)
  stack.defer(() => waiting.close())
  fleetListeners.routingChanges.add(({ engines }) => {
    for (const engine of engines.values()) waiting.offer(engine, placesLeft(engine))
  })
  const lanes = createLanes({
    router,
    standstill,
    queue: waiting,
    trails: createTrails(nowMs),
    onFault: fault => metrics.inference.countFault(fault),
    onBreaker: ({ cellId, health, pools }, isClosed) => {
      const models = pools?.map(({ model }) => model)
      if (isClosed) logger.info({ cell: cellId, models }, 'circuit breaker of an engine closed')
      else
        logger.warn(
          { cell: cellId, models, fault: health?.lastFault },
          'circuit breaker of an engine opened: it gets one request at a time until one succeeds',
        )
    },
    nowMs,
  })
  return { lanes, waiting, views: { waiting } }
}

const openWaitQueue = ({ config, router, nowMs, runtime }: DispatchParts): WaitQueue =>
  new WaitQueue({
    limits: {
      length: config.routing.queue_length,
      maxWaitMs: config.routing.queue_max_wait_seconds * 1000,
      restartMs: config.routing.queue_restart_seconds * 1000,
    },
    router,
    nowMs,
    callAfter: callAfterBy(runtime),
  })
