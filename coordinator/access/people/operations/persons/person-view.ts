import * as z from 'zod'
import { defineView } from '../../../../kernel/declaration/define-view.ts'
import { personTable } from '../../person.table.ts'

/** A person as a caller names them. */
export const PersonRef = z.string().max(200).describe('Id or name of the person.')

const view = defineView(personTable, {
  id: true,
  tenant_id: true,
  name: true,
  created_at: true,
  disabled_at: true,
})
export const PersonView = view.schema
export const personViewOf = view.of
