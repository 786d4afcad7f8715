#!/usr/bin/env node
import { existsSync } from 'node:fs'
import { launch } from './launch.mjs'

// backups are made on the machine of the coordinator, also while it is stopped
const isLocal = process.argv[2] === 'backup'
const coordinator = '../coordinator/main.ts'
if (isLocal && !existsSync(new URL(coordinator, import.meta.url))) {
  console.error(
    'shoal: backups are made on the machine of the coordinator; the package shoal-coordinator has the command',
  )
  process.exit(69)
}
await launch(isLocal ? coordinator : '../clients/cli/main.ts')
