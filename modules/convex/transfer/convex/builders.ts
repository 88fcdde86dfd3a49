// What mutations and queries are made with, so that they know the tables of the schema.
import {
  type DataModelFromSchemaDefinition,
  type MutationBuilder,
  mutationGeneric,
  type QueryBuilder,
  queryGeneric,
} from "convex/server";
import type schema from "./schema.ts";

type Tables = DataModelFromSchemaDefinition<typeof schema>;
export const mutation = mutationGeneric as MutationBuilder<Tables, "public">;
export const query = queryGeneric as QueryBuilder<Tables, "public">;
