import * as z from 'zod'
import type { ModuleOrder } from '../../daemon/helper/child/module.ts'
import { scanItems } from '../../daemon/helper/child/scan-items.ts'
import type { HelperCall } from '../../daemon/helper/job.ts'
import { type DiscoveryModule, defineScan } from '../../discovery/module.ts'
import type { ScanContext, ScanRun } from '../../discovery/scan-run.ts'
import type { AnswerEvent } from '../../shared/wire/answer-events.ts'

/** A module that no program of the product has. */
export const testModule: DiscoveryModule = {
  ...defineScan({
    id: 'test-scan',
    name: 'Test scan',
    description: 'List things that a test makes up.',
    tags: ['test'],
    access: 'operator',
    reach: 'lan',
    input: z.strictObject({ count: z.int().min(0).max(20_000).default(2) }),
    examples: [{}],
    deadlineSeconds: 10,
    autoRun: { everySeconds: 60, isPassive: true },
    row: z.strictObject({ name: z.string().max(64), size_bytes: z.int() }),
  }),
  domain: 'network',
}

/** Helpers that run the program in this process. */
export const helpersWith = (run: ScanRun, module: DiscoveryModule = testModule) => ({
  get: () => ({
    async *stream(call: HelperCall, signal = new AbortController().signal) {
      const { input, scope, config } = call.input as ModuleOrder
      const reports: AnswerEvent[] = []
      const context: Omit<ScanContext, 'warn'> = {
        signal,
        scope,
        config,
        report: progress => void reports.push({ type: 'progress', progress }),
      }
      for await (const value of scanItems({ module, run } as never, input as never, context)) {
        yield* reports.splice(0)
        yield { type: 'item', value } as const
      }
    },
  }),
})
