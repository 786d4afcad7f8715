import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '..', '..')

export interface InstallStep {
  host: 'coordinator' | 'cell'
  command: string
}

/** The commands of docs/install.md for two machines, in their order. */
export const readInstallSteps = (): InstallStep[] => {
  const page = readFileSync(join(root, 'docs', 'install.md'), 'utf8')
  return [...page.matchAll(/^```sh (coordinator|cell)\n(.*?)^```/gms)].map(
    ([, host = '', command = '']) => ({ host: host as InstallStep['host'], command }),
  )
}

/** Values that a reader copies from one answer into a later command. */
export class InstallNotes {
  #key = ''
  #token = ''

  read(answer: string): void {
    this.#key = /svc-dev-\S+/.exec(answer)?.[0] ?? this.#key
    this.#token = /shl_join_[\w.-]+/.exec(answer)?.[0] ?? this.#token
  }

  fill(command: string): string {
    const [, fingerprint = ''] = this.#token.split('.')
    return command.replace('shl_join_…', this.#token).replace('FINGERPRINT', fingerprint)
  }

  /** Returns the text that a command asks for at the terminal. */
  inputOf(command: string): string {
    return command.includes(' login') ? `${this.#key}\n` : ''
  }
}
