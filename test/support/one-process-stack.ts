import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { bootstrap, type DemoKeys } from '../../coordinator/access/keys/bootstrap.ts'
import { serve } from '../../coordinator/assembly/serve.ts'
import { CoordinatorConfig } from '../../coordinator/config.ts'
import { createToken } from '../../coordinator/fleet/enrolment/join-tokens.ts'
import { openStore } from '../../coordinator/kernel/store/store.ts'
import { DaemonConfig } from '../../daemon/config.ts'
import { daemon } from '../../daemon/daemon.ts'
import { type InferenceService, inferenceService } from '../../daemon/services/inference.ts'
import { writeRandomModel } from '../../models/gguf/random-model.ts'
import { silent } from './cell.ts'
import { placeEmptyStore } from './empty-store.ts'
import { MEMORY_FOLDER } from './memory-folder.ts'
import { waitUntil } from './wait-until.ts'

/** A real coordinator and a real daemon with a real engine, in this process, to look into. */
export interface OneProcessStack {
  url: string
  keys: DemoKeys
  inference: InferenceService
  /** Requests in line at the coordinator. */
  countWaiting(): number
  stop(): Promise<void>
}

export const MODEL = 'model-a:7b'

/** Asked greedily, random weights end no answer by themselves. */
export const startInOneProcess = async (inferenceInput: object): Promise<OneProcessStack> => {
  const folder = mkdtempSync(join(MEMORY_FOLDER, 'shoal-one-'))
  const weights = join(folder, 'random.gguf')
  writeRandomModel(weights, {
    embeddingLength: 256,
    blockCount: 4,
    headCount: 4,
    headCountKv: 2,
    feedForwardLength: 768,
    vocabularySize: 600,
    contextLength: 8192,
    type: 'Q8_0',
    seed: 1,
  })
  const catalogue = [
    { id: MODEL, kind: 'chat', minimum_tier: 'free', weights, context_length: 8192 },
  ]
  const stateDir = join(folder, 'coordinator')
  placeEmptyStore(stateDir)
  const store = await openStore(stateDir)
  const { keys } = await bootstrap(store)
  const token = await createToken(store.ledger, { uses: 1, ttlMinutes: 10 }, { actor: 'test' })
  await store.close()
  const coordinator = await serve(
    CoordinatorConfig.parse({
      state_dir: stateDir,
      http: { port: 0, drain_seconds: 0 },
      catalogue,
      tiers: { enterprise: { requests_per_minute: 100_000 } },
      routing: { queue_length: 1000 },
    }),
    silent,
  )
  const config = DaemonConfig.parse({
    state_dir: join(folder, 'cell'),
    coordinator: { url: coordinator.url, join_token: token.secret },
    catalogue,
    inference: inferenceInput,
    telemetry: { interval_seconds: 1 },
  })
  const inference = inferenceService({
    catalogue: config.catalogue,
    config: config.inference,
    stateDir: config.state_dir,
    logger: silent,
  })
  const stopping = new AbortController()
  const running = daemon({ config, env: {}, inference, logger: silent, signal: stopping.signal })
  await waitUntil('the cell serves its model', async () => {
    const response = await fetch(`${coordinator.url}/v1/health`)
    return ((await response.json()) as { models: number }).models === 1
  })
  const stop = async (): Promise<void> => {
    stopping.abort()
    await running
    await coordinator.close()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
  const countWaiting = () => coordinator.queueLengths().get(MODEL) ?? 0
  return { url: coordinator.url, keys, inference, countWaiting, stop }
}
