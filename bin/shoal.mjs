#!/usr/bin/env node
import { launch } from './launch.mjs'

// backups are made on the machine of the coordinator, also while it is stopped
const isLocal = process.argv[2] === 'backup'
await launch(isLocal ? '../coordinator/main.ts' : '../clients/cli/main.ts')
