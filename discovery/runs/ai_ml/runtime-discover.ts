import type { ScanRun } from '../../scan-run.ts'
import { findRuntimes } from './runtimes/find-runtimes.ts'
import type { Runtime } from './runtimes/runtime.ts'

const run: ScanRun<{ subnet?: string }, Runtime> = ({ subnet }, context) =>
  findRuntimes(subnet, context)

export default run
