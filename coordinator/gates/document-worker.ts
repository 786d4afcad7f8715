import { parentPort, workerData } from 'node:worker_threads'
import { MAX_PLAN_BYTES } from './plan-hash.ts'
import { parseYaml } from './policy-yaml.ts'

/** Answer of the worker thread: the parsed value, or why there is none. */
export type ParseResult = { document: unknown } | { fault: string }

/** A document too large for a plan could not be approved, so it is not parsed either. */
const parseDocument = (text: string): ParseResult => {
  try {
    const document = parseYaml(text)
    const bytes = Buffer.byteLength(JSON.stringify(document) ?? '')
    if (bytes <= MAX_PLAN_BYTES) return { document }
    return { fault: `it is larger than ${MAX_PLAN_BYTES} bytes` }
  } catch (error) {
    // a text of brackets alone nests deeper than the stack
    const [line = ''] = error instanceof RangeError ? ['it is too deep'] : String(error).split('\n')
    return { fault: line }
  }
}

parentPort?.postMessage(parseDocument(workerData))
