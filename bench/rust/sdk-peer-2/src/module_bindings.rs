//! What `spacetime generate --lang rust` of 2.8.3 writes for a module with the reducer `transfer`, less what the
//! peer never uses: tables, procedures, and the documentation. Contexts so made cost less than the generated ones,
//! which hold a handle of the connection for each. They differ in their event only, so a macro writes them.

#![allow(dead_code)]

use spacetimedb_sdk::__codegen::{self as __sdk, __lib, __sats, __ws};

#[derive(Clone, PartialEq, Debug)]
pub enum Reducer {
    Transfer(TransferArgs),
}

impl __sdk::Reducer for Reducer {
    fn reducer_name(&self) -> &'static str {
        "transfer"
    }
    fn args_bsatn(&self) -> Result<Vec<u8>, __sats::bsatn::EncodeError> {
        let Self::Transfer(args) = self;
        __sats::bsatn::to_vec(args)
    }
}

#[derive(__lib::ser::Serialize, __lib::de::Deserialize, Clone, PartialEq, Debug)]
#[sats(crate = __lib)]
pub struct TransferArgs {
    pub from: u32,
    pub to: u32,
    pub amount: u32,
}

/// Always empty, as nothing is subscribed to.
#[derive(Default, Debug)]
pub struct DbUpdate;

fn unknown_table(name: &str, container: &'static str) -> __sdk::Error {
    __sdk::InternalError::unknown_name("table", name, container).into()
}

fn no_rows(raw: __ws::v2::QueryRows) -> __sdk::Result<DbUpdate> {
    match raw.tables.first() {
        None => Ok(DbUpdate),
        Some(rows) => Err(unknown_table(&rows.table[..], "QueryRows")),
    }
}

impl TryFrom<__ws::v2::TransactionUpdate> for DbUpdate {
    type Error = __sdk::Error;
    fn try_from(raw: __ws::v2::TransactionUpdate) -> __sdk::Result<Self> {
        match __sdk::transaction_update_iter_table_updates(raw).next() {
            None => Ok(Self),
            Some(update) => Err(unknown_table(&update.table_name[..], "DatabaseUpdate")),
        }
    }
}

impl __sdk::DbUpdate for DbUpdate {
    fn apply_to_client_cache(&self, _cache: &mut __sdk::ClientCache<RemoteModule>) -> AppliedDiff<'_> {
        AppliedDiff(std::marker::PhantomData)
    }
    fn parse_initial_rows(raw: __ws::v2::QueryRows) -> __sdk::Result<Self> {
        no_rows(raw)
    }
    fn parse_unsubscribe_rows(raw: __ws::v2::QueryRows) -> __sdk::Result<Self> {
        no_rows(raw)
    }
}

pub struct AppliedDiff<'r>(std::marker::PhantomData<&'r ()>);

impl __sdk::InModule for AppliedDiff<'_> {
    type Module = RemoteModule;
}

impl<'r> __sdk::AppliedDiff<'r> for AppliedDiff<'r> {
    fn invoke_row_callbacks(&self, _event: &EventContext, _callbacks: &mut __sdk::DbCallbacks<RemoteModule>) {
    }
}

#[derive(Debug)]
pub struct RemoteModule;

pub struct RemoteReducers {
    imp: __sdk::DbContextImpl<RemoteModule>,
}

impl RemoteReducers {
    pub fn transfer_then(
        &self,
        arguments: TransferArgs,
        callback: impl FnOnce(&ReducerEventContext, Result<Result<(), String>, __sdk::InternalError>)
            + Send
            + 'static,
    ) -> __sdk::Result<()> {
        self.imp.invoke_reducer_with_callback(Reducer::Transfer(arguments), callback)
    }
}

pub struct RemoteProcedures;

pub struct RemoteTables;

#[derive(Clone)]
pub struct SubscriptionHandle {
    imp: __sdk::SubscriptionHandleImpl<RemoteModule>,
}

impl __sdk::SubscriptionHandle for SubscriptionHandle {
    fn new(imp: __sdk::SubscriptionHandleImpl<RemoteModule>) -> Self {
        Self { imp }
    }
    fn is_ended(&self) -> bool {
        self.imp.is_ended()
    }
    fn is_active(&self) -> bool {
        self.imp.is_active()
    }
    fn unsubscribe_then(self, on_end: __sdk::OnEndedCallback<RemoteModule>) -> __sdk::Result<()> {
        self.imp.unsubscribe_then(Some(on_end))
    }
    fn unsubscribe(self) -> __sdk::Result<()> {
        self.imp.unsubscribe_then(None)
    }
}

macro_rules! in_module {
    ($($name:ident)*) => {
        $(impl __sdk::InModule for $name {
            type Module = RemoteModule;
        })*
    };
}

in_module!(Reducer DbUpdate RemoteModule RemoteReducers RemoteProcedures RemoteTables SubscriptionHandle);

macro_rules! context {
    ($name:ident, $event:ty) => {
        pub struct $name {
            pub reducers: RemoteReducers,
            pub event: $event,
            imp: __sdk::DbContextImpl<RemoteModule>,
        }

        impl $name {
            fn over(imp: __sdk::DbContextImpl<RemoteModule>, event: $event) -> Self {
                Self { reducers: RemoteReducers { imp: imp.clone() }, event, imp }
            }
        }

        in_module!($name);

        impl __sdk::DbContext for $name {
            type DbView = RemoteTables;
            type Reducers = RemoteReducers;
            type Procedures = RemoteProcedures;
            type SubscriptionBuilder = __sdk::SubscriptionBuilder<RemoteModule>;

            fn db(&self) -> &Self::DbView {
                &RemoteTables
            }
            fn reducers(&self) -> &Self::Reducers {
                &self.reducers
            }
            fn procedures(&self) -> &Self::Procedures {
                &RemoteProcedures
            }
            fn is_active(&self) -> bool {
                self.imp.is_active()
            }
            fn disconnect(&self) -> __sdk::Result<()> {
                self.imp.disconnect()
            }
            fn subscription_builder(&self) -> Self::SubscriptionBuilder {
                __sdk::SubscriptionBuilder::new(&self.imp)
            }
            fn try_identity(&self) -> Option<__sdk::Identity> {
                self.imp.try_identity()
            }
            fn connection_id(&self) -> __sdk::ConnectionId {
                self.imp.connection_id()
            }
            fn try_connection_id(&self) -> Option<__sdk::ConnectionId> {
                self.imp.try_connection_id()
            }
        }
    };
}

macro_rules! event_context {
    ($name:ident, $event:ty) => {
        context!($name, $event);

        impl __sdk::AbstractEventContext for $name {
            type Event = $event;
            fn event(&self) -> &Self::Event {
                &self.event
            }
            fn new(imp: __sdk::DbContextImpl<RemoteModule>, event: Self::Event) -> Self {
                Self::over(imp, event)
            }
        }

        impl __sdk::$name for $name {}
    };
}

context!(DbConnection, ());
event_context!(EventContext, __sdk::Event<Reducer>);
event_context!(ReducerEventContext, __sdk::ReducerEvent<Reducer>);
event_context!(ProcedureEventContext, ());
event_context!(SubscriptionEventContext, ());
event_context!(ErrorContext, Option<__sdk::Error>);

impl DbConnection {
    pub fn builder() -> __sdk::DbConnectionBuilder<RemoteModule> {
        __sdk::DbConnectionBuilder::new()
    }

    pub async fn run_async(&self) -> __sdk::Result<()> {
        self.imp.run_async().await
    }
}

impl __sdk::DbConnection for DbConnection {
    fn new(imp: __sdk::DbContextImpl<RemoteModule>) -> Self {
        Self::over(imp, ())
    }
}

impl __sdk::SpacetimeModule for RemoteModule {
    type DbConnection = DbConnection;
    type EventContext = EventContext;
    type ReducerEventContext = ReducerEventContext;
    type ProcedureEventContext = ProcedureEventContext;
    type SubscriptionEventContext = SubscriptionEventContext;
    type ErrorContext = ErrorContext;
    type Reducer = Reducer;
    type DbView = RemoteTables;
    type Reducers = RemoteReducers;
    type Procedures = RemoteProcedures;
    type DbUpdate = DbUpdate;
    type AppliedDiff<'r> = AppliedDiff<'r>;
    type SubscriptionHandle = SubscriptionHandle;
    type QueryBuilder = __sdk::QueryBuilder;

    fn register_tables(_client_cache: &mut __sdk::ClientCache<Self>) {}

    const ALL_TABLE_NAMES: &'static [&'static str] = &[];
}
