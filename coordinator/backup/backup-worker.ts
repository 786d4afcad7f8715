import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import { listBackups } from './backup-catalogue.ts'
import { type BackupRequest, createBackup } from './create-backup.ts'
import { verifyBackup } from './restore-backup.ts'

/* Thread of `open.ts`: makes one backup, tests it, and removes the oldest scheduled ones beyond `keep`. */

const { keep, ...request } = workerData as BackupRequest & { keep: number }
const { name } = await createBackup(request)
await verifyBackup(join(request.folder, name), request.passphrase, request.now)
const made = await listBackups(request.folder)
const old = made.filter(({ manifest }) => manifest?.is_scheduled).slice(keep)
for (const each of old) await rm(join(request.folder, each.name), { recursive: true })
parentPort?.postMessage({ name, removed: old.length })
