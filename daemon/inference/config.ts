import * as z from 'zod'
import { AllowList } from '../../shared/outbound/allow-list.ts'
import { parseDownloadUrl } from '../../shared/weights-source.ts'
import { Setting } from '../../shared/wire/desired.ts'

const GIB = 1024 ** 3

/** Section `inference` of the daemon's configuration. */
export const InferenceConfig = z.strictObject({
  slots: z
    .union([Setting.slots, z.literal('auto')])
    .default('auto')
    .describe(
      'Chat requests that one engine runs at the same time; each keeps its own context. `auto`: ' +
        'measured at the first start for weights of 64 MiB and more, else 8.',
    ),
  embedding_slots: z
    .int()
    .min(1)
    .max(64)
    .default(2)
    .describe('Embedding or rerank requests that one engine runs at the same time.'),
  queue_factor: z
    .number()
    .min(0)
    .max(1000)
    .default(2)
    .describe('Requests that may wait for a slot, as a multiple of the slots.'),
  queue_prompt_bytes: z
    .int()
    .min(0)
    .default(16 * 1024 * 1024)
    .describe('Text that the waiting requests of one engine may hold together.'),
  queue_timeout_seconds: z
    .number()
    .positive()
    .max(3600)
    .default(30)
    .describe('Longest wait for a slot, loading of the model included.'),
  threads: z
    .union([Setting.threads, z.literal('auto')])
    .exactOptional()
    .describe(
      'CPU threads of one engine. Default, and `auto`: measured as the slots are, else the cores ' +
        'less one.',
    ),
  gpu: z
    .enum(['auto', 'off'])
    .default('auto')
    .describe('`off` keeps the engines away from the GPUs.'),
  preload: z
    .boolean()
    .default(true)
    .describe('Load the models at the start; otherwise each one on its first request.'),
  idle_unload_minutes: z
    .number()
    .min(0)
    .max(525_600)
    .default(15)
    .describe(
      'A model that a request or an operator has loaded, and that was not used for this time, is ' +
        'unloaded; 0 is never. What is preloaded or pinned stays.',
    ),
  memory_limit_percent: z
    .number()
    .min(1)
    .max(100)
    .default(95)
    .describe(
      'Nothing is loaded when more than this share of the GPU memory, or without a GPU of the ' +
        "host's, would then be in use.",
    ),
  models_dir: z
    .string()
    .min(1)
    .optional()
    .describe('Folder of the weights that are downloaded. Default: `models` in state_dir.'),
  models_max_bytes: z
    .int()
    .min(0)
    .default(256 * GIB)
    .describe(
      'Maximum size of this folder. Weights that the catalogue no longer names make ' +
        'room first.',
    ),
  hub_url: z
    .string()
    .superRefine((text, context) => {
      try {
        parseDownloadUrl(text)
      } catch (error) {
        context.addIssue((error as Error).message)
      }
    })
    .default('https://huggingface.co')
    .describe('Address of the model hub that `hf:` in the catalogue refers to.'),
  hub_token_file: z
    .string()
    .min(1)
    .optional()
    .describe('File that holds a token of the hub, for weights that require one.'),
  download_allow: AllowList.describe(
    'Private servers, as host:port, that models added at the coordinator may be downloaded from.',
  ),
  download_stall_seconds: z
    .number()
    .min(1)
    .max(3600)
    .default(60)
    .describe(
      'A download that receives almost no data for this time is resumed on a new connection.',
    ),
  load_timeout_seconds: z
    .number()
    .positive()
    .max(86_400)
    .default(600)
    .describe('An engine that is not ready after this time is stopped.'),
  watchdog_seconds: z
    .number()
    .positive()
    .max(86_400)
    .default(60)
    .describe('A busy engine that makes no progress for this time is restarted.'),
  keepalive_seconds: z
    .number()
    .positive()
    .max(600)
    .default(15)
    .describe('Interval of comment lines in a stream that has nothing to send.'),
})
export type InferenceConfig = z.infer<typeof InferenceConfig>
