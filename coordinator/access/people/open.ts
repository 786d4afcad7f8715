import type { Actor } from '../../kernel/audit/audit.ts'
import type { Scope } from '../../kernel/store/scope.ts'
import type { Store } from '../../kernel/store/store.ts'
import {
  createPerson,
  getPerson,
  listPeople,
  type NewPerson,
  type Person,
  readNames,
  resolvePersonId,
} from './people.ts'
import { getTenant, type Tenant } from './tenants.ts'

/** People and tenants; who may no longer act is decided with their keys. */
export interface PeopleViews {
  people: {
    create(person: NewPerson, by: Actor): Promise<Person>
    get(id: string, scope: Scope): Promise<Person | undefined>
    /** Returns the id of the person who is meant by an id or a name. Throws `conflict`. */
    resolveId(idOrName: string, scope: Scope): Promise<string>
    list(scope: Scope): Promise<Person[]>
    /** Returns names of people by id, whatever their tenant: an approver sees who asks. */
    names(ids: readonly string[]): Promise<Map<string, string>>
    tenant(id: string): Promise<Tenant | undefined>
  }
}

export const openPeople = ({
  store: { ledger },
}: {
  store: Pick<Store, 'ledger'>
}): { views: PeopleViews } => ({
  views: {
    people: {
      create: (person, by) => createPerson(ledger, person, by),
      get: (id, scope) => getPerson(ledger, id, scope),
      resolveId: (idOrName, scope) => resolvePersonId(ledger, idOrName, scope),
      list: scope => listPeople(ledger, scope),
      names: ids => readNames(ledger, ids),
      tenant: id => getTenant(ledger, id),
    },
  },
})
